package authenticator

import (
	"crypto/x509"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/util/certtest"
)

func TestOnlyAFrontProxyIsBelieved(t *testing.T) {
	t.Parallel()
	proxies, clients := certtest.Authority(t, "proxies"), certtest.Authority(t, "clients")
	ann := []string{"X-Remote-User: ann", "X-Remote-Group: dev", "X-Remote-Group:", "X-Remote-Group: ops", "X-Team: web"}
	anns := &user.Info{Name: "ann", Groups: []string{"dev", "ops", "web"}}
	for _, row := range []struct {
		name    string
		req     *http.Request
		headers []string
		user    *user.Info
		err     string
	}{
		{"no certificate", request(), ann, nil, ""},
		{"no certificate, but TLS", shows(), ann, nil, ""},
		{"a certificate of other clients", shows(clients.Client(t, "proxy", nil)), ann, nil, "unknown authority"},
		{"another name", shows(proxies.Client(t, "eve", nil)), ann, nil, `the common name "eve" is not one of the front proxy's`},
		{"no name", shows(proxies.Client(t, "", nil)), ann, nil, `the common name "" is not one of the front proxy's`},
		{"a server's certificate", shows(proxies.Client(t, "proxy", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })), ann, nil, "incompatible key usage"},
		{"the proxy without a user", shows(proxies.Client(t, "proxy", nil)), ann[1:], nil, ""},
		{"the proxy", shows(proxies.Client(t, "proxy", nil)), ann, anns, ""},
		{"the second name of it", shows(proxies.Client(t, "proxy2", nil)), ann, anns, ""},
		{"the second header, as the first is empty", shows(proxies.Client(t, "proxy", nil)), []string{"X-Remote-User: ", "X-User: bob", "Impersonate-User: eve"}, &user.Info{Name: "bob"}, ""},
		{"the first of two headers", shows(proxies.Client(t, "proxy", nil)), []string{"X-User: bob", "X-Remote-User: ann"}, &user.Info{Name: "ann"}, ""},
	} {
		for _, header := range row.headers {
			name, value, _ := strings.Cut(header, ":")
			row.req.Header.Add(name, strings.TrimSpace(value))
		}
		proxy := RequestHeader(FrontProxy{Roots: proxies.Pool, AllowedNames: []string{"proxy", "proxy2"},
			UsernameHeaders: []string{"x-remote-user", "X-User"}, GroupHeaders: []string{"X-Remote-Group", "x-team"}})
		who, ok, err := proxy.AuthenticateRequest(row.req)
		assert.Equal(t, row.user, who, row.name)
		assert.Equal(t, row.user != nil, ok, row.name)
		if row.err == "" {
			assert.NoError(t, err, row.name)
		} else {
			assert.ErrorContains(t, err, row.err, row.name)
		}
		for _, name := range []string{"X-Remote-User", "X-User", "X-Remote-Group", "X-Team"} {
			assert.NotContains(t, row.req.Header, name, "%s: somebody behind it might believe this", row.name)
		}
	}
}

func TestAFrontProxyTellsUIDAndExtraDataOfAUser(t *testing.T) {
	t.Parallel()
	proxies := certtest.Authority(t, "proxies")
	proxy := RequestHeader(FrontProxy{Roots: proxies.Pool, UsernameHeaders: []string{"X-Remote-User"}, UIDHeaders: []string{"x-remote-uid", "X-Uid"},
		GroupHeaders: []string{"X-Remote-Group"}, ExtraPrefixes: []string{"x-remote-extra-", "X-More-"}})
	for _, row := range []struct {
		name    string
		headers []string
		uid     string
		extra   map[string][]string
	}{
		{"neither", nil, "", nil},
		{"a uid", []string{"X-Remote-Uid: 7"}, "7", nil},
		{"the second uid, as the first is empty", []string{"X-Remote-Uid: ", "X-Uid: 8"}, "8", nil},
		{"the first of two", []string{"X-Uid: 8", "X-Remote-Uid: 7", "X-Remote-Uid: 9"}, "7", nil},
		{"values of a key, also an empty one", []string{"X-Remote-Extra-Scopes: a", "X-Remote-Extra-scopes: ", "X-REMOTE-EXTRA-SCOPES: b,c"}, "", map[string][]string{"scopes": {"a", "", "b,c"}}},
		{"a key that is encoded", []string{"X-Remote-Extra-Example.com%2FUser%20ID: a"}, "", map[string][]string{"example.com/user id": {"a"}}},
		{"a key that cannot be decoded", []string{"X-Remote-Extra-A%zz: a"}, "", map[string][]string{"a%zz": {"a"}}},
		{"a key without a name", []string{"X-Remote-Extra-: a"}, "", map[string][]string{"": {"a"}}},
		{"one key with two prefixes, and in two forms", []string{"X-More-ab: c", "X-Remote-Extra-ab: b", "X-Remote-Extra-%61b: a"}, "", map[string][]string{"ab": {"a", "b", "c"}}},
		{"others", []string{"X-Remote-Extra: a", "X-Remote: b", "Impersonate-Extra-a: c"}, "", nil},
	} {
		for _, certificate := range []*certtest.Pair{proxies.Client(t, "proxy", nil), proxies.Client(t, "eve", func(c *x509.Certificate) { c.ExtKeyUsage = nil; certtest.Expired(c) })} {
			req := shows(certificate)
			for _, header := range append(row.headers, "X-Remote-User: ann", "X-Other: stays") {
				name, value, _ := strings.Cut(header, ": ")
				req.Header.Add(name, value)
			}
			who, ok, err := proxy.AuthenticateRequest(req)
			if certificate.Leaf.Subject.CommonName == "eve" {
				assert.False(t, ok, row.name)
				assert.Error(t, err, row.name)
			} else {
				require.NoError(t, err, row.name)
				assert.Equal(t, &user.Info{Name: "ann", UID: row.uid, Extra: row.extra}, who, row.name)
			}
			for name := range req.Header {
				assert.NotRegexp(t, "^X-(Remote-(User|Uid|Extra-)|Uid$|More-)", name, "%s: somebody behind it might believe this", row.name)
			}
			assert.Equal(t, "stays", req.Header.Get("X-Other"), row.name)
		}
	}
}

func TestHeadersThatAFrontProxyIsNotConfiguredToSendTellNothing(t *testing.T) {
	t.Parallel()
	proxies := certtest.Authority(t, "proxies")
	req := shows(proxies.Client(t, "proxy", nil))
	for _, name := range []string{"X-Remote-User", "X-Remote-Uid", "X-Remote-Group", "X-Remote-Extra-A"} {
		req.Header.Set(name, "ann")
	}
	who, _, err := RequestHeader(FrontProxy{Roots: proxies.Pool, UsernameHeaders: []string{"X-Remote-User"}}).AuthenticateRequest(req)
	require.NoError(t, err)
	assert.Equal(t, &user.Info{Name: "ann"}, who)
}

func TestWithoutNamesEveryCertificateOfItsAuthorityIsTheProxy(t *testing.T) {
	t.Parallel()
	proxies := certtest.Authority(t, "proxies")
	req := shows(proxies.Client(t, "anything", nil))
	req.Header.Set("X-Remote-User", "ann")
	who, ok, err := RequestHeader(FrontProxy{Roots: proxies.Pool, UsernameHeaders: []string{"X-Remote-User"}}).AuthenticateRequest(req)
	assert.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, &user.Info{Name: "ann"}, who)
}

func TestAClientBehindNoProxyIsKnownByItsOwnCertificate(t *testing.T) {
	t.Parallel()
	proxies, clients := certtest.Authority(t, "proxies"), certtest.Authority(t, "clients")
	all := Anonymous(Union(RequestHeader(FrontProxy{Roots: proxies.Pool, UsernameHeaders: []string{"X-Remote-User"}}), X509(clients.Pool)))
	for _, row := range []struct {
		name, user string
		req        *http.Request
		err        string
	}{
		{"a client that says to be ann", "bob", shows(clients.Client(t, "bob", nil)), ""},
		{"somebody who says to be ann", user.Anonymous, request(), ""},
		{"the proxy", "ann", shows(proxies.Client(t, "proxy", nil)), ""},
		{"somebody of neither", "", shows(certtest.Authority(t, "x").Client(t, "bob", nil)), "unknown authority"},
	} {
		row.req.Header.Set("X-Remote-User", "ann")
		who, ok, err := all.AuthenticateRequest(row.req)
		assert.Equal(t, row.err == "", ok, row.name)
		if ok {
			assert.NoError(t, err)
			assert.Equal(t, row.user, who.Name, row.name)
		} else {
			assert.ErrorContains(t, err, row.err, row.name)
		}
	}
}

func TestK38AFrontProxyThatNamesNobodyIsNotAnonymous(t *testing.T) {
	t.Parallel()
	proxies := certtest.Authority(t, "proxies")
	proxy := RequestHeader(FrontProxy{Roots: proxies.Pool, UsernameHeaders: []string{"X-Remote-User"}})
	for _, all := range []Request{Anonymous(proxy), Anonymous(Union(proxy, X509(certtest.Authority(t, "clients").Pool)))} {
		_, ok, err := all.AuthenticateRequest(shows(proxies.Client(t, "proxy", nil)))
		assert.False(t, ok, "its own certificate is no user's")
		assert.Error(t, err)
	}
}
