package serviceaccount

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"log"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/user"
)

type object = map[string]any

const aud = "https://kubernetes.default.svc"

func legacy() object {
	return object{"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:shop:web",
		"kubernetes.io/serviceaccount/namespace": "shop", "kubernetes.io/serviceaccount/secret.name": "web-token-1",
		"kubernetes.io/serviceaccount/service-account.name": "web", "kubernetes.io/serviceaccount/service-account.uid": "u-1"}
}

func bound() object {
	now := time.Now().Unix()
	return object{"iss": aud, "sub": "system:serviceaccount:shop:web", "aud": []string{aud}, "iat": now, "nbf": now, "exp": now + 3600, "jti": "1",
		"kubernetes.io": object{"namespace": "shop", "serviceaccount": object{"name": "web", "uid": "u-1"}, "pod": object{"name": "web-1", "uid": "p-1"}}}
}

// with returns claims with some changed, or, if they are nil, gone.
func with(claims, changes object) object {
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

func sign(algorithm jose.SignatureAlgorithm, key, claims any) string {
	text, raw := claims.(string)
	if !raw {
		text = string(must(json.Marshal(claims)))
	}
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", "any")))
	return must(must(signer.Sign([]byte(text))).CompactSerialize())
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// of returns an authenticator of all keys but otherKey.
func of(t testing.TB, audiences ...string) *Authenticator {
	a, err := New([]string{write(t, public(&p256Key().PublicKey)+public(&rsaKey().PublicKey)),
		write(t, public(&p384Key().PublicKey)+public(&p521Key().PublicKey))}, "", audiences...)
	require.NoError(t, err)
	return a
}

var web = &user.Info{Name: "system:serviceaccount:shop:web", UID: "u-1", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:shop"}}

func TestAServiceAccountIsKnownByBothFormsOfTokens(t *testing.T) {
	t.Parallel()
	a := of(t)
	known := *web
	known.Extra = map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=1"},
		"authentication.kubernetes.io/pod-name": {"web-1"}, "authentication.kubernetes.io/pod-uid": {"p-1"}}
	for _, row := range []struct {
		claims object
		want   *user.Info
	}{{legacy(), web}, {bound(), &known}} {
		claims := row.claims
		for _, token := range []string{sign(jose.RS256, rsaKey(), claims), sign(jose.RS384, rsaKey(), claims), sign(jose.RS512, rsaKey(), claims),
			sign(jose.ES256, p256Key(), claims), sign(jose.ES384, p384Key(), claims), sign(jose.ES512, p521Key(), claims)} {
			who, ok, err := a.AuthenticateToken(t.Context(), token)
			assert.NoError(t, err)
			assert.True(t, ok)
			assert.Equal(t, row.want, who)
		}
	}
}

func TestWhatIsNoJWTIsLeftToOthers(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "s3cret", "a.b.c", "..", "e30.e30.e30", encode("null") + ".a.b", encode(`{"alg":""}`) + ".a.b",
		encode(`{"alg":"ES256"}`), encode(`{"alg":"ES256"}`) + ".a", encode(`{"alg":"ES256"}`) + ".a.b.c", encode(`{"alg":1}`) + ".a.b"} {
		who, ok, err := of(t).AuthenticateToken(t.Context(), token)
		assert.NoError(t, err, token)
		assert.False(t, ok, token)
		assert.Nil(t, who)
	}
}

func TestAJWTThatDoesNotHoldIsAnError(t *testing.T) {
	t.Parallel()
	now := time.Now().Unix()
	es256 := func(claims any) string { return sign(jose.ES256, p256Key(), claims) }
	good := es256(bound())
	parts := strings.Split(good, ".")
	der := must(x509.MarshalPKIXPublicKey(&rsaKey().PublicKey))
	const unknown, brokenJWT = "the JWT is signed by an unknown key", "the JWT is broken, or of an algorithm that no key is for"
	const expired, early = "the service account token is expired", "the service account token is not valid yet"
	const otherAudience, otherSubject = "the service account token is for another audience", "the service account token's subject is another one than its claims tell"
	const brokenClaims = "the claims of the service account token are broken"
	account := func(namespace, name, uid any) object {
		return object{"kubernetes.io": object{"namespace": namespace, "serviceaccount": object{"name": name, "uid": uid}}}
	}
	for _, row := range []struct{ name, token, problem string }{
		{"another key", sign(jose.ES256, otherKey(), bound()), unknown},
		{"an unsigned one", encode(`{"alg":"none"}`) + "." + parts[1] + ".", brokenJWT},
		{"one without a signature", parts[0] + "." + parts[1] + ".", unknown},
		{"signed by the public key as a password", sign(jose.HS256, der, bound()), brokenJWT},
		{"signed by the file as a password", sign(jose.HS256, []byte(public(&rsaKey().PublicKey)), bound()), brokenJWT},
		{"an algorithm of RSA that no token has", sign(jose.PS256, rsaKey(), bound()), brokenJWT},
		{"another header", encode(`{"alg":"ES256","typ":"JWT"}`) + "." + parts[1] + "." + parts[2], unknown},
		{"the algorithm of another key", encode(`{"alg":"RS256"}`) + "." + parts[1] + "." + parts[2], unknown},
		{"other claims", parts[0] + "." + encode(string(must(json.Marshal(with(bound(), object{"jti": "2"}))))) + "." + parts[2], unknown},
		{"nonsense", parts[0] + ".%." + parts[2], brokenJWT},
		{"an extension that is critical", encode(`{"alg":"ES256","crit":["x"],"x":1}`) + "." + parts[1] + "." + parts[2], unknown},

		{"claims that are no JSON", es256("hello"), brokenClaims},
		{"claims that are no object", es256("[]"), brokenClaims},
		{"a claim that is there twice", es256(`{"sub":"a","sub":"b"}`), brokenClaims},
		{"a time that is none", es256(with(bound(), object{"exp": "tomorrow"})), brokenClaims},
		{"a name that is none", es256(with(bound(), account("shop", 1, "u-1"))), brokenClaims},
		{"null", es256("null"), "the service account token has no iss"},

		{"expired", es256(with(bound(), object{"exp": now - 3600})), expired},
		{"expired, the legacy form", es256(with(legacy(), object{"exp": now - 3600})), expired},
		{"of the future", es256(with(bound(), object{"nbf": now + 3600})), early},
		{"made in the future", es256(with(bound(), object{"iat": now + 3600})), early},
		{"for ever", es256(with(bound(), object{"exp": nil})), "the service account token has no exp"},

		{"for somebody else", es256(with(bound(), object{"aud": "vault"})), otherAudience},
		{"for nobody", es256(with(bound(), object{"aud": nil})), otherAudience},
		{"the legacy form for somebody else", es256(with(legacy(), object{"aud": "vault"})), otherAudience},

		{"no issuer", es256(with(bound(), object{"iss": nil})), "the service account token has no iss"},
		{"the claims of the other form", es256(with(legacy(), object{"iss": aud})), "the service account token has no kubernetes.io"},
		{"the issuer of the other form", es256(with(bound(), object{"iss": "kubernetes/serviceaccount", "aud": nil})), "the service account token has no secret's name"},
		{"no namespace", es256(with(bound(), account("", "web", "u-1"))), "the service account token has no namespace"},
		{"no name", es256(with(bound(), account("shop", "", "u-1"))), "the service account token has no service account's name"},
		{"no uid", es256(with(bound(), account("shop", "web", ""))), "the service account token has no service account's uid"},
		{"no secret, the legacy form", es256(with(legacy(), object{"kubernetes.io/serviceaccount/secret.name": nil})), "the service account token has no secret's name"},
		{"no name, the legacy form", es256(with(legacy(), object{"kubernetes.io/serviceaccount/service-account.name": nil})), "the service account token has no service account's name"},
		{"large letters", es256(with(legacy(), object{"kubernetes.io/serviceaccount/namespace": nil, "Kubernetes.io/serviceaccount/namespace": "shop"})), "the service account token has no namespace"},
		{"a namespace that hides another", es256(with(bound(), account("shop:web", "x", "u-1"))), "the service account token has a name with a colon"},

		{"another subject", es256(with(bound(), object{"sub": "system:serviceaccount:shop:db"})), otherSubject},
		{"another subject, the legacy form", es256(with(legacy(), object{"sub": "system:serviceaccount:kube-system:web"})), otherSubject},
		{"no subject", es256(with(bound(), object{"sub": nil})), otherSubject},
	} {
		who, ok, err := of(t).AuthenticateToken(t.Context(), row.token)
		assert.EqualError(t, err, row.problem, row.name)
		assert.False(t, ok, row.name)
		assert.Nil(t, who, row.name)
		for part := range strings.SplitSeq(row.token, ".") {
			assert.False(t, len(part) > 3 && strings.Contains(err.Error(), part), row.name)
		}
	}
}

func TestATokenIsForOneOfTheAudiencesOfTheServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		token object
		ours  []string
		ok    bool
	}{
		{bound(), nil, true},
		{with(bound(), object{"aud": []string{"vault", aud}}), nil, true},
		{bound(), []string{"api"}, false},
		{with(bound(), object{"aud": "api"}), []string{"x", "api"}, true},
		{legacy(), []string{"api"}, true},
		{with(legacy(), object{"aud": "api"}), []string{"api"}, true},
	} {
		_, ok, err := of(t, row.ours...).AuthenticateToken(t.Context(), sign(jose.ES256, p256Key(), row.token))
		assert.Equal(t, row.ok, ok)
		assert.Equal(t, row.ok, err == nil)
	}
}

// Clocks may differ by a minute.
func TestATokenBeginsAndEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := of(t)
		now := time.Now().Unix()
		token := sign(jose.ES256, p256Key(), with(bound(), object{"nbf": now + 3600, "exp": now + 7200}))
		for _, row := range []struct {
			after time.Duration
			err   string
		}{{0, "the service account token is not valid yet"}, {time.Hour, ""}, {2 * time.Hour, ""}, {2*time.Hour + 2*time.Minute, "the service account token is expired"}} {
			time.Sleep(time.Until(time.Unix(now, 0).Add(row.after)))
			_, ok, err := a.AuthenticateToken(t.Context(), token)
			assert.Equal(t, row.err == "", ok, row.after)
			if row.err != "" {
				assert.EqualError(t, err, row.err)
			}
		}
	})
}

func TestANewKeyIsKnownAndABrokenOneChangesNothing(t *testing.T) { // not parallel, for the log is everybody's
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	private := block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(otherKey())))
	synctest.Test(t, func(t *testing.T) {
		file := write(t, public(&p256Key().PublicKey))
		a, err := New([]string{file}, "")
		require.NoError(t, err)
		knows := func(key any) bool {
			_, ok, _ := a.AuthenticateToken(t.Context(), sign(jose.ES256, key, bound()))
			return ok
		}
		assert.True(t, knows(p256Key()))
		require.NoError(t, os.WriteFile(file, []byte(private[:len(private)-20]), 0o600))
		time.Sleep(time.Second)
		assert.True(t, knows(p256Key()))
		require.NoError(t, os.WriteFile(file, []byte(private), 0o600))
		time.Sleep(time.Second)
		assert.False(t, knows(p256Key()))
		assert.True(t, knows(otherKey()))
	})
	assert.Contains(t, lines.String(), "-service_account_key_file cannot be read again")
	for line := range strings.SplitSeq(private, "\n") {
		assert.False(t, len(line) > 3 && strings.Contains(lines.String(), line), "a key is in the log")
	}
}

func FuzzJWTs(f *testing.F) {
	a := of(f)
	good := sign(jose.ES256, p256Key(), legacy())
	f.Add(good)
	f.Add(good + ".")
	f.Add(encode(`{"alg":"none"}`) + ".e30.")
	f.Add(encode(`{"alg":"ES256","crit":["b64"],"b64":false}`) + "..AA")
	f.Add(encode(`{"alg":"RS256","jwk":{"kty":"RSA","n":"AQ","e":"AQ"}}`) + ".e30.AA")
	f.Fuzz(func(t *testing.T, token string) {
		who, ok, err := a.AuthenticateToken(t.Context(), token)
		assert.Equal(t, ok, who != nil)
		assert.False(t, ok && err != nil)
		signed := good[:strings.LastIndex(good, ".")]
		assert.True(t, !ok || strings.HasPrefix(strings.NewReplacer("\n", "", "\r", "").Replace(token), signed), "nobody can guess a signature")
	})
}

// FuzzClaims is of claims that somebody with a key may write.
func FuzzClaims(f *testing.F) {
	a := of(f)
	for _, seed := range []any{legacy(), bound(), with(legacy(), object{"exp": -1e300})} {
		f.Add(string(must(json.Marshal(seed))))
	}
	f.Add(`{"exp":9223372036854775807,"nbf":-9223372036854775808}`)
	f.Add(`{"aud":null,"kubernetes.io":null}`)
	f.Fuzz(func(t *testing.T, claims string) {
		who, ok, err := a.AuthenticateToken(t.Context(), sign(jose.ES256, p256Key(), claims))
		assert.Equal(t, ok, err == nil)
		if ok {
			assert.Equal(t, 3, strings.Count(who.Name, ":"))
			assert.Equal(t, []string{"system:serviceaccounts", strings.Replace(who.Name[:strings.LastIndex(who.Name, ":")], "account:", "accounts:", 1)}, who.Groups)
			assert.NotEmpty(t, who.UID)
		}
	})
}

func BenchmarkToken(b *testing.B) {
	a := of(b)
	token := sign(jose.RS256, rsaKey(), bound())
	for b.Loop() {
		_, ok, _ := a.AuthenticateToken(b.Context(), token)
		require.True(b, ok)
	}
}
