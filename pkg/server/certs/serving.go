// Package certs is the certificates and keys of a server: read from files, read again when
// they change, made when there are none. Its errors name files, and never their content.
package certs

import (
	"crypto/tls"

	"kube2014/pkg/util"
	"kube2014/pkg/util/pems"
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
		return pems.ReadPair(certFile, keyFile)
	}, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(), nil }, nil
}
