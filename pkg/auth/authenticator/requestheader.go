package authenticator

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"

	"kube2014/pkg/auth/user"
)

// FrontProxy is a proxy that authenticates users and names them in headers.
type FrontProxy struct {
	Roots           func() *x509.CertPool // the authorities of the proxy's certificate; called for each request
	AllowedNames    []string              // the common names that the certificate may have; empty for any
	UsernameHeaders []string              // the first one with a value names the user
	GroupHeaders    []string              // all their values are groups
}

// RequestHeader trusts the headers of a request that comes from a front proxy. It removes them
// from every request, so that no later handler trusts what any client may send.
//
// A client certificate that is not the proxy's is an error; another authenticator may accept it.
// A request of the proxy that names no user has no credentials.
func RequestHeader(proxy FrontProxy) Request {
	certificates := newVerifier(proxy.Roots)
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		who := &user.Info{}
		for _, name := range proxy.UsernameHeaders {
			who.Name = cmp.Or(who.Name, req.Header.Get(name))
		}
		for _, name := range proxy.GroupHeaders {
			groups := slices.DeleteFunc(slices.Clone(req.Header.Values(name)), func(group string) bool { return group == "" })
			who.Groups = append(who.Groups, groups...)
		}
		for _, name := range slices.Concat(proxy.UsernameHeaders, proxy.GroupHeaders) {
			req.Header.Del(name)
		}
		certificate, err := certificates.verify(req)
		if certificate == nil {
			return nil, false, err
		}
		if name := certificate.Subject.CommonName; len(proxy.AllowedNames) > 0 && !slices.Contains(proxy.AllowedNames, name) {
			return nil, false, fmt.Errorf("the common name %q is not one of the front proxy's", name)
		}
		if who.Name == "" {
			return nil, false, nil
		}
		return who, true, nil
	})
}
