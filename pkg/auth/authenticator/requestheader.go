package authenticator

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"

	"kube2014/pkg/auth/user"
)

// FrontProxy is a proxy that finds out who sends a request, and tells it in headers.
type FrontProxy struct {
	Roots           func() *x509.CertPool // whose client certificates the proxy has; asked for each request
	AllowedNames    []string              // the common names that the certificate may have; all if empty
	UsernameHeaders []string              // the first that is not empty names the user
	GroupHeaders    []string              // all their values are groups
}

// RequestHeader believes the headers of a request that comes from a front proxy. It takes
// them out of every request, so that nobody behind it believes what anybody may write.
//
// A client certificate that the proxy cannot have is an error, as it may not be one for
// another authenticator. From the proxy itself, a request without a user is not known.
func RequestHeader(proxy FrontProxy) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		who := &user.Info{}
		for _, name := range proxy.UsernameHeaders {
			if value := req.Header.Get(name); who.Name == "" {
				who.Name = value
			}
		}
		for _, name := range proxy.GroupHeaders {
			for _, value := range req.Header.Values(name) {
				if value != "" {
					who.Groups = append(who.Groups, value)
				}
			}
		}
		for _, name := range slices.Concat(proxy.UsernameHeaders, proxy.GroupHeaders) {
			req.Header.Del(name)
		}
		certificate, err := verify(req, proxy.Roots)
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
