package authenticator

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"kube2014/pkg/auth/user"
)

// X509 identifies the user by the client certificate of the connection: the common name is the
// user, the organizations are the groups. Roots returns the trusted authorities; it is called for
// each request, as they may change. A certificate that cannot be verified, or has no common name,
// is an error.
func X509(roots func() *x509.CertPool) Request {
	certificates := newVerifier(roots)
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		certificate, err := certificates.verify(req)
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

// maxVerified bounds how many certificates a verifier remembers.
const maxVerified = 1000

// verifier verifies client certificates. To verify the certificate of each request anew would take 70 µs, more than
// all else that is done for a small one, so it remembers those that are good, until they end.
type verifier struct {
	roots func() *x509.CertPool
	known *cache.LRUExpireCache // true by verified
}

// verified is a good certificate, with those that the client sent along, in DER.
type verified struct {
	roots *x509.CertPool
	chain string
}

func newVerifier(roots func() *x509.CertPool) verifier {
	return verifier{roots, cache.NewLRUExpireCache(maxVerified)}
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
func (v verifier) verify(req *http.Request) (*x509.Certificate, error) {
	sent := peer(req)
	if len(sent) == 0 {
		return nil, nil
	}
	options := x509.VerifyOptions{Roots: v.roots(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if options.Roots == nil { // nil would mean those of the system
		return nil, errors.New("the client certificate cannot be verified: there are no authorities")
	}
	var der strings.Builder
	for _, one := range sent {
		der.Write(one.Raw)
	}
	key := verified{options.Roots, der.String()}
	if _, ok := v.known.Get(key); ok {
		return sent[0], nil
	}
	if len(sent) > 1 {
		options.Intermediates = x509.NewCertPool()
		for _, intermediate := range sent[1:] {
			options.Intermediates.AddCert(intermediate)
		}
	}
	chains, err := sent[0].Verify(options)
	if err != nil {
		return nil, fmt.Errorf("the client certificate cannot be verified: %w", err)
	}
	first := slices.MinFunc(chains[0], func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	v.known.Add(key, true, time.Until(first.NotAfter))
	return sent[0], nil
}
