package oidc

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnIssuerThatLiesIsNotTrusted(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		``:              "its configuration is no JSON, or broken",
		`[]`:            "its configuration is no JSON, or broken",
		`<html>`:        "its configuration is no JSON, or broken",
		`{"issuer": 1}`: "its configuration is no JSON, or broken",
		`{"jwks_uri": "https://issuer.example.com/keys"}`:                                          "its configuration is that of another issuer",
		`{"issuer": "https://issuer.example.com/", "jwks_uri": "https://issuer.example.com/keys"}`: "its configuration is that of another issuer",
		`{"issuer": "https://evil.example.com", "jwks_uri": "https://issuer.example.com/keys"}`:    "its configuration is that of another issuer",
		`{"issuer": "https://issuer.example.com"}`:                                                 "the jwks_uri of its configuration is not an https URL",
		`{"issuer": "https://issuer.example.com", "jwks_uri": "http://issuer.example.com/keys"}`:   "the jwks_uri of its configuration is not an https URL",
		`{"issuer": "https://issuer.example.com", "jwks_uri": "file:///etc/keys"}`:                 "the jwks_uri of its configuration is not an https URL",
		`{"issuer": "https://issuer.example.com", "jwks_uri": "https:///keys"}`:                    "the jwks_uri of its configuration is not an https URL",
		`{"issuer": "https://issuer.example.com", "jwks_uri": "%"}`:                                "the jwks_uri of its configuration is not an https URL",
	} {
		k := &keys{issuer: issuerURL, fetch: func(context.Context, string) ([]byte, error) { return []byte(answer), nil }}
		assert.EqualError(t, k.discover(t.Context()), want, answer)
		assert.Nil(t, k.url.Load())
	}
}

func TestOfTheKeysOfAnIssuerOnlyPublicOnesCount(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{``, `[]`, `{"keys": 1}`} {
		_, err := parseKeys([]byte(broken))
		assert.EqualError(t, err, "they are no JSON, or broken")
	}
	for _, none := range []string{`{}`, `{"keys": []}`, `{"keys": [1, {}, {"kty": "oct", "k": "AAAA", "kid": "rsa"}, {"kty": "new"}]}`} {
		known, err := parseKeys([]byte(none))
		assert.NoError(t, err)
		assert.Empty(t, known, none)
	}
}

func FuzzKeysOfAnIssuerDoNotBreakTheServer(f *testing.F) {
	for _, text := range []string{`{"keys": [{"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"}]}`, `{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "x5c": [""]}]}`, `{"keys": [null]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		known, err := parseKeys(text)
		assert.False(t, err != nil && len(known) > 0)
	})
}
