package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	validity = 10 * 365 * 24 * time.Hour
	skew     = time.Hour // how much another machine's clock may be behind
)

// makeCertificates makes an authority, and signs with it a certificate for the server on this
// machine and one for a user who may do everything. The key of the authority is kept nowhere:
// nobody can sign another one.
func makeCertificates(dir string) error {
	authority := template("kube2014", x509.KeyUsageCertSign)
	authority.IsCA = true
	signer, err := newPair(authority, nil)
	if err != nil {
		return err
	}
	server := template("apiserver", x509.KeyUsageDigitalSignature, x509.ExtKeyUsageServerAuth)
	server.DNSNames, server.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	admin := template("admin", x509.KeyUsageDigitalSignature, x509.ExtKeyUsageClientAuth)
	admin.Subject.Organization = []string{"system:masters"}

	return errors.Join(signer.write(dir, server, serverCert, serverKey), signer.write(dir, admin, adminCert, adminKey),
		writePEM(filepath.Join(dir, caFile), "CERTIFICATE", signer.certificate.Raw))
}

// makeAggregation makes what a second server behind the first one needs, unless it is there: another authority, the certificate by which the
// second server knows the first one, and its own. Who has a certificate of this authority could name himself anybody, so it is not that of users.
func makeAggregation(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, frontProxyCA)); !os.IsNotExist(err) {
		return err
	}
	authority := template("kube2014 front proxy", x509.KeyUsageCertSign)
	authority.IsCA = true
	signer, err := newPair(authority, nil)
	if err != nil {
		return err
	}
	extension := template("extension", x509.KeyUsageDigitalSignature, x509.ExtKeyUsageServerAuth)
	extension.DNSNames, extension.IPAddresses = []string{"extension.default.svc", "localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	aggregator := template("aggregator", x509.KeyUsageDigitalSignature, x509.ExtKeyUsageClientAuth)
	if err := errors.Join(signer.write(dir, extension, extensionCert, extensionKey), signer.write(dir, aggregator, aggregatorCert, aggregatorKey)); err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, frontProxyCA), "CERTIFICATE", signer.certificate.Raw) // last: all is there then
}

// write writes a new certificate that the pair has signed, and its key.
func (p *pair) write(dir string, template *x509.Certificate, cert, key string) error {
	made, err := newPair(template, p)
	if err != nil {
		return err
	}
	text, err := x509.MarshalPKCS8PrivateKey(made.key)
	if err != nil {
		return err
	}
	return errors.Join(writePEM(filepath.Join(dir, cert), "CERTIFICATE", made.certificate.Raw), writePEM(filepath.Join(dir, key), "PRIVATE KEY", text))
}

func template(name string, usage x509.KeyUsage, extended ...x509.ExtKeyUsage) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-skew), NotAfter: now.Add(validity),
		KeyUsage: usage, ExtKeyUsage: extended, BasicConstraintsValid: true,
	}
}

// pair is a certificate and its key.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// newPair returns a pair with a new key, signed by another pair, or by itself if there is none.
func newPair(wanted *x509.Certificate, signer *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if signer == nil {
		signer = &pair{wanted, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, wanted, signer.certificate, key.Public(), signer.key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &pair{certificate, key}, nil
}

func writePEM(path, kind string, der []byte) error {
	return writeFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
