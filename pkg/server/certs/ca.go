package certs

import (
	"crypto/x509"

	"kube2014/pkg/util"
	"kube2014/pkg/util/pems"
)

// CAPool returns the certificates of authorities in a PEM file. They are read again when it
// changes; while what is in it cannot be read, those before stay. What says in the log what
// they are for, such as the flag. The function is safe for concurrent use; nobody changes the
// pool that it returns. The error is that of the first time: a file without a certificate is
// one.
func CAPool(what, file string) (func() *x509.CertPool, error) {
	pool, err := util.Reload(what, func() (*x509.CertPool, error) { return pems.ReadPool(file) }, file)
	if err != nil {
		return nil, err
	}
	return pool.Get, nil
}
