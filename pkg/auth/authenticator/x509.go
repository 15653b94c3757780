package authenticator

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"kube2014/pkg/auth/user"
)

// X509 identifies the user by the client certificate of the connection: the common name is the
// user, the organizations are the groups. Roots returns the trusted authorities; it is called for
// each request, as they may change. A certificate that cannot be verified, or has no common name,
// is an error.
func X509(roots func() *x509.CertPool) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		certificate, err := verify(req, roots)
		if certificate == nil {
			return nil, false, err
		}
		name := certificate.Subject.CommonName
		if name == "" {
			return nil, false, errors.New("the client certificate has no common name")
		}
		return &user.Info{Name: name, Groups: certificate.Subject.Organization}, true, nil
	})
}

// peer returns the certificates that the client sent, its own first.
func peer(req *http.Request) []*x509.Certificate {
	if req.TLS == nil {
		return nil
	}
	return req.TLS.PeerCertificates
}

// verify returns the client certificate of a request, nil if there is none, which is no error. A
// certificate that is not signed by one of the roots is an error.
func verify(req *http.Request, roots func() *x509.CertPool) (*x509.Certificate, error) {
	chain := peer(req)
	if len(chain) == 0 {
		return nil, nil
	}
	options := x509.VerifyOptions{Roots: roots(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if options.Roots == nil { // nil would mean those of the system
		return nil, errors.New("the client certificate cannot be verified: there are no authorities")
	}
	if len(chain) > 1 {
		options.Intermediates = x509.NewCertPool()
		for _, intermediate := range chain[1:] {
			options.Intermediates.AddCert(intermediate)
		}
	}
	if _, err := chain[0].Verify(options); err != nil {
		return nil, fmt.Errorf("the client certificate cannot be verified: %w", err)
	}
	return chain[0], nil
}
