package certs

import (
	"crypto/tls"
	"fmt"

	"kube2014/pkg/util"
)

// GetCertificate returns the certificate for a new connection, as tls.Config asks for it. It
// is safe for concurrent use.
type GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// ServingCertificate returns the pair of a certificate, which those of its issuers may follow,
// and its key. It is read again when a file changes: the files may be replaced one after the
// other, for until they belong together the pair before stays. Connections that are open keep
// theirs. The error is that of the first time.
func ServingCertificate(certFile, keyFile string) (GetCertificate, error) {
	pair, err := util.Reload("the server's certificate", func() (*tls.Certificate, error) {
		return readPair(certFile, keyFile)
	}, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil }, nil
}

func readPair(certFile, keyFile string) (*tls.Certificate, error) {
	cert, err := read(certFile)
	if err != nil {
		return nil, err
	}
	key, err := read(keyFile)
	if err != nil {
		return nil, err
	}
	return parsePair(certFile, cert, keyFile, key)
}

// parsePair makes a pair of two PEM texts. The library's errors may tell what is in them.
func parsePair(certFile string, cert []byte, keyFile string, key []byte) (*tls.Certificate, error) {
	if _, err := certificates(certFile, cert); err != nil {
		return nil, err
	}
	if _, err := privateKey(keyFile, key); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s and the private key in %s do not belong together", certFile, keyFile)
	}
	return &pair, nil
}
