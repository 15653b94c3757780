// Package certs reads the certificates and keys of a server, reads them again when they change, and
// creates them if there are none. Its errors name files, and never their content.
package certs

import (
	"crypto/tls"

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
	pair, err := ReadPair("the server's certificate", certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil }, nil
}

// ReadPair reads a certificate as ServingCertificate does, and again when a file changes. What names its purpose in the log,
// such as the flag.
func ReadPair(what, certFile, keyFile string) (*util.Reloaded[*tls.Certificate], error) {
	return util.Reload(what, func() (*tls.Certificate, error) { return pems.ReadPair(certFile, keyFile) }, certFile, keyFile)
}
