// Package certstest makes authorities and certificates for tests, in memory and in files.
package certstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pair is a certificate and its key.
type Pair struct {
	tls.Certificate        // for a tls.Config, with its Leaf
	CertPEM, KeyPEM []byte // as they stand in files
}

// CA is an authority. It is safe for concurrent use.
type CA struct{ Pair }

// NewCA returns an authority of a name, with a key of its own.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	key := newKey(t)
	return &CA{*issue(t, key, template, template, key)}
}

// Pool returns a pool that has only this authority.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	return pool
}

// Issue returns a certificate that the authority has signed, and a new key. It is valid from
// an hour ago until tomorrow, if the template does not say otherwise.
func (ca *CA) Issue(t testing.TB, template *x509.Certificate) *Pair {
	t.Helper()
	return ca.IssueFor(t, newKey(t), template)
}

// IssueFor is Issue with a given key.
func (ca *CA) IssueFor(t testing.TB, key crypto.Signer, template *x509.Certificate) *Pair {
	t.Helper()
	return issue(t, key, template, ca.Leaf, ca.PrivateKey.(crypto.Signer))
}

// Server returns the template for a server of hosts, which are names and addresses.
func Server(hosts ...string) *x509.Certificate {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "server"}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return template
}

// Client returns the template for a user who is in groups.
func Client(name string, groups ...string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: groups}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// Expired returns a template for what has ended a minute ago.
func Expired(template *x509.Certificate) *x509.Certificate {
	expired := *template
	expired.NotBefore, expired.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(-time.Minute)
	return &expired
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

// CertFile writes the certificate to a file in a new folder, and returns its path: of a CA,
// it is the file for those who trust it.
func (p *Pair) CertFile(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.crt")
	Replace(t, file, p.CertPEM)
	return file
}

// Replace writes a file at once: a reader sees what was in it, or what is.
func Replace(t testing.TB, path string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", text, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func issue(t testing.TB, key crypto.Signer, template, issuer *x509.Certificate, signer crypto.Signer) *Pair {
	t.Helper()
	wanted := *template
	if wanted.NotAfter.IsZero() {
		wanted.NotBefore, wanted.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, &wanted, issuer, key.Public(), signer)
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
