// Package certtest makes certificates for tests. They are valid from 1990 to 2100, so also
// under the clock of a synctest bubble.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Pair is a certificate with its key.
type Pair struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
}

// Authority makes a certificate that signs others, itself.
func Authority(t testing.TB, name string) *Pair {
	return sign(t, nil, func(c *x509.Certificate) {
		c.Subject.CommonName = name
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
		c.ExtKeyUsage = nil
	})
}

// Client makes the certificate of a client. Changes, which may be nil, change it before it is
// signed.
func (p *Pair) Client(t testing.TB, name string, changes func(*x509.Certificate)) *Pair {
	return sign(t, p, func(c *x509.Certificate) {
		c.Subject.CommonName = name
		if changes != nil {
			changes(c)
		}
	})
}

// Pool returns a pool of this certificate only.
func (p *Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.Certificate)
	return pool
}

// TLS returns the pair as a connection needs it.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Certificate.Raw}, PrivateKey: p.Key}
}

// PEM returns the certificate and its key in the PEM format.
func (p *Pair) PEM(t testing.TB) (certificate, key []byte) {
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate.Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func sign(t testing.TB, signer *Pair, changes func(*x509.Certificate)) *Pair {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{},
		NotBefore: time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	changes(template)
	if signer == nil {
		signer = &Pair{template, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.Certificate, &key.PublicKey, signer.Key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Pair{certificate, key}
}
