package etcdtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// TLS are the files of an authority, and of certificates that it has signed: of members
// on 127.0.0.1, and of a client.
type TLS struct {
	CAFile, CertFile, KeyFile string // for clients

	serverCert, serverKey string
}

// MakeTLS makes the files in dir. The names in them are the same each time, the keys are
// others.
func MakeTLS(dir string) (*TLS, error) {
	file := func(name string) string { return filepath.Join(dir, name) }
	t := &TLS{
		CAFile: file("ca.pem"), CertFile: file("client.pem"), KeyFile: file("client-key.pem"),
		serverCert: file("server.pem"), serverKey: file("server-key.pem"),
	}
	authority, signer, err := issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil, t.CAFile, file("ca-key.pem"))
	if err != nil {
		return nil, err
	}
	// etcd calls itself with the certificate of a server, for its HTTP API.
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	_, _, serverErr := issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "etcd"}, ExtKeyUsage: usage, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, authority, signer, t.serverCert, t.serverKey)
	_, _, clientErr := issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "client"}, ExtKeyUsage: usage[1:],
	}, authority, signer, t.CertFile, t.KeyFile)
	return t, errors.Join(serverErr, clientErr)
}

// issue makes a key, and a certificate for it that a parent signs, or itself if that is
// nil. It writes both to files.
func issue(template, parent *x509.Certificate, signer crypto.Signer, certFile, keyFile string) (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, signer = template, key
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	signed, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(writePEM(certFile, "CERTIFICATE", signed), writePEM(keyFile, "PRIVATE KEY", private)); err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(signed)
	return certificate, key, err
}

func writePEM(file, kind string, data []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600)
}

// client is what a client needs that trusts the members, and is trusted by them.
func (t *TLS) client() (*tls.Config, error) {
	authority, err := os.ReadFile(t.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}, err
}
