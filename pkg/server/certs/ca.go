package certs

import (
	"crypto/x509"

	"kube2014/pkg/util"
	"kube2014/pkg/util/pems"
)

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
