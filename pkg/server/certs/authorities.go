package certs

import (
	"crypto/x509"

	"kube2014/pkg/util"
	"kube2014/pkg/util/pems"
)

// CABundle is the certificates of authorities in a PEM file. They are read again when the file changes; while it cannot be
// read, the previous ones stay. It is safe for concurrent use.
type CABundle struct{ read *util.Reloaded[authorities] }

type authorities struct {
	all  []*x509.Certificate
	pool *x509.CertPool
}

// ReadCABundle reads a file. What names its purpose in the log, such as the flag. The error is that of the first read: a file
// without a certificate is one.
func ReadCABundle(what, file string) (*CABundle, error) {
	read, err := util.Reload(what, func() (authorities, error) {
		all, err := pems.ReadCertificates(file)
		return authorities{all, pems.PoolOf(all)}, err
	}, file)
	if err != nil {
		return nil, err
	}
	return &CABundle{read}, nil
}

// Certificates returns the certificates, which are read-only.
func (b *CABundle) Certificates() []*x509.Certificate { return b.read.Get().all }

// Pool returns the certificates as a pool, which is read-only. It is the same one until the file changes.
func (b *CABundle) Pool() *x509.CertPool { return b.read.Get().pool }
