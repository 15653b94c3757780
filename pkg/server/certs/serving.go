// Package certs reads the certificates and keys of a server, reads them again when they change, and
// creates them if there are none. Its errors name files, and never their content.
package certs

import (
	"crypto/tls"
	"crypto/x509"

	"kube2014/pkg/util"
	"kube2014/pkg/util/pems"
)

// GetCertificate returns the certificate for a new connection, as tls.Config asks for it. It
// is safe for concurrent use.
type GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// ServingCertificate returns the certificate in a file, which may include its issuers, with its key. It is
// read again when a file changes. The files may be replaced one after the other: the previous pair stays
// until they match. Open connections keep theirs. The error is that of the first read.
func ServingCertificate(certFile, keyFile string) (GetCertificate, error) {
	pair, err := util.Reload("the server's certificate", func() (*tls.Certificate, error) {
		return pems.ReadPair(certFile, keyFile)
	}, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil }, nil
}

// CAPool returns a function that returns the certificates of authorities in a PEM file. They are read again
// when the file changes; while it cannot be read, the previous ones stay. What names their purpose in the log,
// such as the flag. The function is safe for concurrent use; the pool is read-only. The error is that of the
// first read: a file without a certificate is one.
func CAPool(what, file string) (func() *x509.CertPool, error) {
	pool, err := util.Reload(what, func() (*x509.CertPool, error) { return pems.ReadPool(file) }, file)
	if err != nil {
		return nil, err
	}
	return pool.Get, nil
}
