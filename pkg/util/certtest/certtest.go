// Package certtest makes certificates for tests, in memory and in files. They are valid from
// 1990 to 2100, so also under the clock of a synctest bubble.
package certtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pair is a certificate and its key. It is safe for concurrent use.
type Pair struct {
	tls.Certificate        // for a tls.Config, with its Leaf
	CertPEM, KeyPEM []byte // as they stand in files
}

// Authority creates a self-signed certificate that signs others.
func Authority(t testing.TB, name string) *Pair {
	t.Helper()
	template := newTemplate(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	return sign(t, nil, newKey(t), template)
}

// Client creates the certificate of a client. Changes, which may be nil, edits it before it is
// signed.
func (p *Pair) Client(t testing.TB, name string, changes func(*x509.Certificate)) *Pair {
	t.Helper()
	template := newTemplate(name, x509.ExtKeyUsageClientAuth)
	if changes != nil {
		changes(template)
	}
	return sign(t, p, newKey(t), template)
}

// Server creates the certificate of a server of hosts, which are names and addresses.
func (p *Pair) Server(t testing.TB, hosts ...string) *Pair {
	t.Helper()
	return p.ServerWithKey(t, newKey(t), hosts...)
}

// ServerWithKey is Server for a given key.
func (p *Pair) ServerWithKey(t testing.TB, key crypto.Signer, hosts ...string) *Pair {
	t.Helper()
	template := newTemplate("server", x509.ExtKeyUsageServerAuth)
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(t, p, key, template)
}

// Expired is a change for Client: the certificate has expired.
func Expired(template *x509.Certificate) { template.NotAfter = template.NotBefore.Add(time.Hour) }

// Pool returns a pool of this certificate only.
func (p *Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.Leaf)
	return pool
}

// Files writes the pair to two files in a new folder, and returns their paths.
func (p *Pair) Files(t testing.TB) (certFile, keyFile string) {
	t.Helper()
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	Replace(t, certFile, p.CertPEM)
	Replace(t, keyFile, p.KeyPEM)
	return certFile, keyFile
}

// Replace writes a file atomically.
func Replace(t testing.TB, path string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", text, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func newTemplate(name string, usages ...x509.ExtKeyUsage) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usages,
		NotBefore: time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// sign creates a pair that is signed by a signer, or by itself if that is nil.
func sign(t testing.TB, signer *Pair, key crypto.Signer, template *x509.Certificate) *Pair {
	t.Helper()
	issuer, signingKey := template, key
	if signer != nil {
		issuer, signingKey = signer.Leaf, signer.PrivateKey.(crypto.Signer)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signingKey)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return &Pair{
		Certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf},
		CertPEM:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		KeyPEM:      pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}
