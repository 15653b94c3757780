package authenticator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/auth/user"
)

// secret is the token of ann.
var secret = TokenFunc(func(_ context.Context, token string) (*user.Info, bool, error) {
	switch token {
	case "s3cret":
		return &user.Info{Name: "ann"}, true, nil
	case "late":
		return nil, false, errOne
	}
	return nil, false, nil
})

func TestATokenIsKnownOrAnErrorButNeverAnonymous(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		header []string
		user   string
		err    error
	}{
		{"no header", nil, user.Anonymous, nil},
		{"a token", []string{"Bearer s3cret"}, "ann", nil},
		{"the scheme in any letters", []string{"bEARER s3cret"}, "ann", nil},
		{"more blanks", []string{"  Bearer   s3cret "}, "ann", nil},
		{"an unknown token", []string{"Bearer secret"}, "", ErrInvalidToken},
		{"a token that somebody knows is wrong", []string{"Bearer late"}, "", errOne},
		{"two tokens", []string{"Bearer s3cret s3cret"}, "", ErrInvalidToken},
		{"an unknown token before a known one", []string{"Bearer secret", "Bearer s3cret"}, "", ErrInvalidToken},
		{"no token", []string{"Bearer"}, "", ErrNotUnderstood},
		{"no token after the blank", []string{"Bearer "}, "", ErrNotUnderstood},
		{"another scheme", []string{"Basic czNjcmV0"}, "", ErrNotUnderstood},
		{"another scheme that begins as this one", []string{"Bearers s3cret"}, "", ErrNotUnderstood},
		{"an empty header", []string{""}, "", ErrNotUnderstood},
	} {
		req := request()
		req.Header["Authorization"] = row.header
		who, ok, err := Anonymous(Bearer(secret)).AuthenticateRequest(req)
		assert.Equal(t, row.user != "", ok, row.name)
		assert.Equal(t, row.err, err, row.name)
		if ok {
			assert.Equal(t, row.user, who.Name, row.name)
			assert.Empty(t, req.Header.Values("Authorization"), "nobody behind it sees the token")
		}
	}
}

func TestK33OnlyWhoShowsNothingIsAnonymous(t *testing.T) {
	t.Parallel()
	who, ok, err := Anonymous(knowsNobody).AuthenticateRequest(request())
	assert.True(t, ok)
	assert.NoError(t, err)
	assert.Equal(t, &user.Info{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}, who)

	who, ok, err = Anonymous(knows("ann")).AuthenticateRequest(request())
	assert.True(t, ok)
	assert.NoError(t, err)
	assert.Equal(t, "ann", who.Name)

	_, ok, err = Anonymous(fails(errOne)).AuthenticateRequest(request())
	assert.False(t, ok)
	assert.ErrorIs(t, err, errOne)

	req := request()
	req.TLS = &tls.ConnectionState{}
	_, ok, _ = Anonymous(knowsNobody).AuthenticateRequest(req)
	assert.True(t, ok)
	req.TLS.PeerCertificates = []*x509.Certificate{{}}
	_, ok, err = Anonymous(knowsNobody).AuthenticateRequest(req)
	assert.False(t, ok)
	assert.ErrorIs(t, err, ErrNotUnderstood, "a certificate that nobody looks at is no reason for trust, but one to ask")
}

func FuzzAuthorizationHeaders(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer s3cret", "Bearer s3cret x", "bearer\ts3cret", "Basic x", "Bearer \x00", "Bearer  s3cret"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		req := request()
		req.Header.Set("Authorization", header)
		who, ok, err := Anonymous(Bearer(secret)).AuthenticateRequest(req)
		assert.Equal(t, ok, err == nil)
		if ok {
			assert.Equal(t, "ann", who.Name, "never anonymous")
		}
	})
}
