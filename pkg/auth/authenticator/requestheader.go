package authenticator

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"kube2014/pkg/auth/user"
)

// FrontProxy is a proxy that authenticates users and names them in headers.
type FrontProxy struct {
	Roots           func() *x509.CertPool // the authorities of the proxy's certificate; called for each request
	AllowedNames    []string              // the common names that the certificate may have; empty for any
	UsernameHeaders []string              // the first one with a value names the user
	UIDHeaders      []string              // the first one with a value is the user's UID
	GroupHeaders    []string              // all their values are groups
	ExtraPrefixes   []string              // of headers that have extra data of the user: the rest of the name is the key
}

// take returns the user whom headers name, with "" if they name none, and removes these headers.
func (p FrontProxy) take(headers http.Header) *user.Info {
	who := &user.Info{}
	for _, name := range p.UsernameHeaders {
		who.Name = cmp.Or(who.Name, headers.Get(name))
	}
	for _, name := range p.UIDHeaders {
		who.UID = cmp.Or(who.UID, headers.Get(name))
	}
	for _, name := range p.GroupHeaders {
		groups := slices.DeleteFunc(slices.Clone(headers.Values(name)), func(group string) bool { return group == "" })
		who.Groups = append(who.Groups, groups...)
	}
	names := slices.Concat(p.UsernameHeaders, p.UIDHeaders, p.GroupHeaders)
	for _, prefix := range p.ExtraPrefixes {
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			if len(name) < len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
				continue
			}
			names = append(names, name)
			key := user.ExtraKey(name[len(prefix):])
			if who.Extra == nil {
				who.Extra = map[string][]string{}
			}
			who.Extra[key] = append(who.Extra[key], headers[name]...)
		}
	}
	for _, name := range names {
		headers.Del(name)
	}
	return who
}

// RequestHeader trusts the headers of a request that comes from a front proxy. It removes them
// from every request, so that no later handler trusts what any client may send.
//
// A client certificate that is not the proxy's is an error; another authenticator may accept it.
// A request of the proxy that names no user has no credentials.
func RequestHeader(proxy FrontProxy) Request {
	certificates := newVerifier(proxy.Roots)
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		who := proxy.take(req.Header)
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
