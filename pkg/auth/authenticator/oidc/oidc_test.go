package oidc

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authenticator/authenticatortest"
)

type object = map[string]any

// Whom today's server lets in is in the recording, which the tests of the flags replay.
func TestATokenThatDoesNotGetInIsToldWhyWithoutWhatItSays(t *testing.T) {
	t.Parallel()
	a, issuer := newAuthenticator(t)
	a.config.UsernameClaim, a.config.RequiredClaims = "email", map[string]string{"tenant": "blue"}
	a.Run(t.Context())
	for want, shown := range map[string]authenticatortest.Token{
		"":        {},
		"unknown": {Claims: object{"iss": "https://issuer.example.com/"}},
		"oidc: the token is broken, or signed by an algorithm that is not listed": {Header: object{"alg": "RS512"}},
		unknownKey: {Key: "other"},
		"oidc: the claims of the token are broken":                               {Claims: object{"nonce": 7}},
		"oidc: the token names a source of claims that it does not have":         {Claims: object{"_claim_names": object{"groups": "a"}}},
		"oidc: the token is for another audience":                                {Claims: object{"aud": []string{"others"}}},
		"oidc: the token is expired, or does not say when it expires":            {Without: []string{"exp"}},
		"oidc: the token is not valid yet":                                       {Times: map[string]int{"nbf": 120}},
		"oidc: the token has no claim email":                                     {Without: []string{"email"}},
		"oidc: the claim email is of a wrong type":                               {Claims: object{"email": []string{"ann"}}},
		"oidc: the claim email_verified is of a wrong type":                      {Claims: object{"email_verified": "true"}},
		"oidc: the email is not verified":                                        {Claims: object{"email_verified": false}},
		"oidc: the claim groups is of a wrong type":                              {Claims: object{"groups": object{}}},
		"oidc: the token has no claim tenant":                                    {Without: []string{"tenant"}},
		"oidc: the claim tenant has another value than the one that is required": {Claims: object{"tenant": "red"}},
	} {
		claims := object{"email": "ann@example.com", "tenant": "blue"}
		for name, value := range shown.Claims {
			claims[name] = value
		}
		shown.Claims = claims
		name, failed := show(t, a, issuer, shown)
		assert.Equal(t, want, failed)
		assert.Equal(t, want == "", name == "ann@example.com")
	}
}

func TestK120GroupsThatAnotherServerKeepsAreNotFetched(t *testing.T) {
	t.Parallel()
	a, issuer := newAuthenticator(t)
	a.Run(t.Context())
	elsewhere := func(claims object) authenticatortest.Token {
		claims["_claim_names"], claims["_claim_sources"] = object{"groups": "a"}, object{"a": object{"endpoint": issuerURL + "/groups", "access_token": "x"}}
		return authenticatortest.Token{Claims: claims}
	}
	_, failed := show(t, a, issuer, elsewhere(object{}))
	assert.Equal(t, "oidc: the claim groups is kept by another server, which is not supported", failed)
	name, failed := show(t, a, issuer, elsewhere(object{"groups": "dev"}))
	assert.Equal(t, "ann", name, failed)
	a.config.GroupsClaim = ""
	name, failed = show(t, a, issuer, elsewhere(object{}))
	assert.Equal(t, "ann", name, failed, "nobody asks for groups")
}

func TestAnIDTokenEndsAtItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, issuer := newAuthenticator(t)
		a.Run(t.Context())
		text, err := issuer.Make(authenticatortest.Token{Times: map[string]int{"exp": 60, "nbf": 60}}, time.Now())
		require.NoError(t, err)
		is := func(wanted bool) {
			t.Helper()
			_, ok, _ := a.AuthenticateToken(t.Context(), text)
			assert.Equal(t, wanted, ok)
		}
		is(true)
		time.Sleep(time.Minute)
		is(true)
		time.Sleep(time.Nanosecond)
		is(false)
	})
}

func TestTheIssuerOfGoogleMayLeaveOutItsScheme(t *testing.T) {
	t.Parallel()
	for named, same := range map[string]bool{googles: true, "accounts.google.com": true, "http://accounts.google.com": false, "accounts.google.com/": false} {
		assert.Equal(t, same, sameIssuer(googles, named), named)
	}
	assert.False(t, sameIssuer("https://example.com", "example.com"))
}

func TestWhatIsNoJWTOfTheIssuerIsLeftToOthers(t *testing.T) {
	t.Parallel()
	a, _ := newAuthenticator(t)
	for _, token := range []string{"", "s3cret", "..", "a.b.c", "e30.e30.e30", "e30.W10.e30", "e30.eyJpc3MiOjF9.e30", "abcdef.0123456789abcdef"} {
		_, ok, err := a.AuthenticateToken(t.Context(), token)
		assert.False(t, ok, token)
		assert.NoError(t, err, token)
	}
}

func FuzzATokenNeitherGetsInNorBreaksTheServer(f *testing.F) {
	issuer, err := authenticatortest.New(issuerURL)
	require.NoError(f, err)
	for _, t := range []authenticatortest.Token{{}, {Key: "p256"}, {Header: object{"alg": "none"}}, {Payload: `{"iss":"$issuer","exp":$exp}`}} {
		text, err := issuer.Make(t, time.Now())
		require.NoError(f, err)
		f.Add(text)
	}
	a := New(Config{Issuer: issuerURL, ClientID: "fuzz", UsernameClaim: "sub", Algorithms: Algorithms})
	a.keys.fetch = directly(issuer)
	a.Run(f.Context())
	f.Fuzz(func(t *testing.T, token string) {
		_, ok, _ := a.AuthenticateToken(t.Context(), token)
		assert.False(t, ok, "nobody has signed it for this client")
	})
}
