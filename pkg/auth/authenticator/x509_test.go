package authenticator

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/util/certtest"
)

// shows makes a request through a connection with certificates.
func shows(chain ...*certtest.Pair) *http.Request {
	req := request()
	req.TLS = &tls.ConnectionState{}
	for _, one := range chain {
		req.TLS.PeerCertificates = append(req.TLS.PeerCertificates, one.Leaf)
	}
	return req
}

func TestK47ACertificateNamesTheUserAndTheGroups(t *testing.T) {
	t.Parallel()
	ca, other := certtest.Authority(t, "ca"), certtest.Authority(t, "ca")
	between := ca.Client(t, "between", func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	ann := func(c *x509.Certificate) { c.Subject.Organization = []string{"dev", "ops"} }
	anns := &user.Info{Name: "ann", Groups: []string{"dev", "ops"}}
	for _, row := range []struct {
		name string
		req  *http.Request
		user *user.Info
		err  string
	}{
		{"no TLS", request(), nil, ""},
		{"no certificate", shows(), nil, ""},
		{"a user in two groups", shows(ca.Client(t, "ann", ann)), anns, ""},
		{"no group", shows(ca.Client(t, "bob", nil)), &user.Info{Name: "bob"}, ""},
		{"for all uses", shows(ca.Client(t, "bob", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} })), &user.Info{Name: "bob"}, ""},
		{"with what is between it and the authority", shows(between.Client(t, "ann", ann), between), anns, ""},
		{"without that", shows(between.Client(t, "ann", ann)), nil, "unknown authority"},
		{"of another authority of the same name", shows(other.Client(t, "ann", ann)), nil, "unknown authority"},
		{"that authority shown along", shows(other.Client(t, "ann", ann), other), nil, "unknown authority"},
		{"signed by a client", shows(ca.Client(t, "bob", nil).Client(t, "ann", ann), ca.Client(t, "bob", nil)), nil, "cannot be verified"},
		{"a good certificate behind a bad one", shows(other.Client(t, "eve", nil), ca.Client(t, "ann", ann)), nil, "unknown authority"},
		{"of a server", shows(ca.Client(t, "ann", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })), nil, "incompatible key usage"},
		{"of the past", shows(ca.Client(t, "ann", func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(time.Hour) })), nil, "expired"},
		{"of the future", shows(ca.Client(t, "ann", func(c *x509.Certificate) { c.NotBefore = c.NotAfter.Add(-time.Hour) })), nil, "not yet valid"},
		{"without a name", shows(ca.Client(t, "", ann)), nil, "the client certificate has no common name"},
	} {
		who, ok, err := X509(ca.Pool).AuthenticateRequest(row.req)
		assert.Equal(t, row.user, who, row.name)
		assert.Equal(t, row.user != nil, ok, row.name)
		if row.err == "" {
			assert.NoError(t, err, row.name)
		} else {
			assert.ErrorContains(t, err, row.err, row.name)
		}
	}
}

func TestACertificateEndsWhileItsConnectionLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca := certtest.Authority(t, "ca")
		pool := ca.Pool()
		authenticator := X509(func() *x509.CertPool { return pool })
		req := shows(ca.Client(t, "ann", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(time.Hour) }))
		for range 2 {
			_, ok, err := authenticator.AuthenticateRequest(req)
			assert.True(t, ok)
			assert.NoError(t, err)
		}
		time.Sleep(time.Hour + time.Second)
		_, ok, err := authenticator.AuthenticateRequest(req)
		assert.False(t, ok)
		assert.ErrorContains(t, err, "expired")
	})
}

func TestTheAuthoritiesMayChange(t *testing.T) {
	t.Parallel()
	old, next := certtest.Authority(t, "old"), certtest.Authority(t, "next")
	pool := old.Pool()
	authenticator := X509(func() *x509.CertPool { return pool })
	req := shows(next.Client(t, "ann", nil))
	_, ok, err := authenticator.AuthenticateRequest(req)
	assert.False(t, ok)
	assert.Error(t, err)
	pool = next.Pool()
	_, ok, err = authenticator.AuthenticateRequest(req)
	assert.True(t, ok)
	assert.NoError(t, err)
	_, ok, err = authenticator.AuthenticateRequest(shows(old.Client(t, "ann", nil)))
	assert.False(t, ok)
	assert.Error(t, err)
	pool = nil // would be the authorities of the system
	_, ok, err = authenticator.AuthenticateRequest(req)
	assert.False(t, ok)
	assert.ErrorContains(t, err, "there are no authorities")
}

// The name of a user can be any text, also one that looks like another one's in a log.
func FuzzNamesInCertificates(f *testing.F) {
	possible := utf8.ValidString

	for _, seed := range []string{"ann", "", "system:masters", "a,O=system:masters", "a\nb", "a\x00b", "Ä", "*"} {
		f.Add(seed, "dev")
	}
	ca := certtest.Authority(f, "ca")
	f.Fuzz(func(t *testing.T, name, group string) {
		if !possible(name) || !possible(group) {
			t.Skip() // no certificate can have it
		}
		pair := ca.Client(t, name, func(c *x509.Certificate) { c.Subject.Organization = []string{group} })
		who, ok, err := X509(ca.Pool).AuthenticateRequest(shows(pair))
		if name == "" {
			assert.Error(t, err)
			assert.False(t, ok)
			return
		}
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, &user.Info{Name: name, Groups: []string{group}}, who)
	})
}
