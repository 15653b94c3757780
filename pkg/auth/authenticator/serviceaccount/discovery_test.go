package serviceaccount

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func answerOf(serve http.HandlerFunc) (mediaType, cache, body string) {
	w := httptest.NewRecorder()
	serve(w, nil)
	return w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"), w.Body.String()
}

// The bytes and headers are those of today's server.
func TestTheMetadataOfAnIssuerSayWhereItsKeysAre(t *testing.T) {
	t.Parallel()
	files := []string{write(t, public(&rsaKey().PublicKey)+public(&p384Key().PublicKey)), write(t, public(&p256Key().PublicKey)+public(&p256Key().PublicKey))}
	a, err := New(files, issuerName)
	require.NoError(t, err)
	d, err := a.Discovery()
	require.NoError(t, err)
	d.KeysURI = "https://127.0.0.1:6443/openid/v1/jwks"
	mediaType, cache, body := answerOf(d.ServeConfiguration)
	assert.Equal(t, "application/json", mediaType)
	assert.Equal(t, "public, max-age=3600", cache)
	assert.Equal(t, `{"issuer":"https://kubernetes.default.svc","jwks_uri":"https://127.0.0.1:6443/openid/v1/jwks","response_types_supported":["id_token"],`+
		`"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256","ES384","RS256"]}`, body)
	mediaType, cache, body = answerOf(d.ServeKeys)
	assert.Equal(t, "application/jwk-set+json", mediaType)
	assert.Equal(t, "public, max-age=3600", cache)
	assert.Regexp(t, `^{"keys":\[{"use":"sig","kty":"RSA","kid":"[\w-]{43}","alg":"RS256","n":"[\w-]+","e":"AQAB"},`+
		`{"use":"sig","kty":"EC","kid":"[\w-]{43}","crv":"P-384","alg":"ES384","x":"[\w-]{64}","y":"[\w-]{64}"},`+
		`{"use":"sig","kty":"EC","kid":"[\w-]{43}","crv":"P-256","alg":"ES256","x":"[\w-]{43}","y":"[\w-]{43}"},{[^{}]+}\]}$`, body)
}

func TestWhoHasTheMetadataCanCheckATokenAndNotSignOne(t *testing.T) {
	t.Parallel()
	for name, private := range map[string]any{"RSA": rsaKey(), "P-256": p256Key(), "P-384": p384Key(), "P-521": p521Key()} {
		file := write(t, privateKey(private))
		issuer, err := NewIssuer(file, issuerName)
		require.NoError(t, err, name)
		text, _, err := issuer.Issue(Bound{Namespace: "dev", ServiceAccount: Ref{"robot", "1"}}, []string{"vault"}, time.Now(), time.Hour)
		require.NoError(t, err, name)
		a, err := New([]string{file}, issuerName)
		require.NoError(t, err, name)
		d, err := a.Discovery()
		require.NoError(t, err, name)

		_, _, body := answerOf(d.ServeKeys)
		var set jose.JSONWebKeySet
		require.NoError(t, json.Unmarshal([]byte(body), &set), name)
		token, err := jwt.ParseSigned(text, algorithms)
		require.NoError(t, err, name)
		keys := set.Key(token.Headers[0].KeyID)
		require.Len(t, keys, 1, name)
		assert.Equal(t, token.Headers[0].Algorithm, keys[0].Algorithm, name)
		assert.True(t, keys[0].IsPublic(), name)
		var claims jwt.Claims
		require.NoError(t, token.Claims(keys[0], &claims), name)
		assert.NoError(t, claims.Validate(jwt.Expected{Issuer: issuerName, AnyAudience: jwt.Audience{"vault"}, Subject: "system:serviceaccount:dev:robot"}), name)
	}
}

func TestOnlyAnIssuerAtAnHTTPSURLHasMetadata(t *testing.T) {
	t.Parallel()
	for _, issuer := range []string{"", "kube2014", "http://x", "https://x?a=b", "https://x#a", "https://%zz"} {
		a, err := New([]string{write(t, public(&p256Key().PublicKey))}, issuer)
		require.NoError(t, err)
		_, err = a.Discovery()
		assert.EqualError(t, err, "is no https URL without a query and a fragment", issuer)
	}
}
