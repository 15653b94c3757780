package options

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authenticator/authenticatortest"
	"kube2014/pkg/server"
)

const recordedTokens = "../auth/authenticator/authenticatortest/testdata/tokens.json"

func issuerFor(t *testing.T) (issuer *authenticatortest.Issuer, caFile string) {
	issuer, err := authenticatortest.Serve()
	require.NoError(t, err)
	t.Cleanup(issuer.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(caFile, issuer.CA, 0o600))
	return issuer, caFile
}

// recordedServer returns the authenticator of bearer tokens of a server of the recording.
func recordedServer(t *testing.T, issuer *authenticatortest.Issuer, caFile string, one authenticatortest.Server, secrets []authenticatortest.Secret) authenticator.Token {
	o, err := Parse(append([]string{"-secure_port", "0", "--enable-bootstrap-token-auth", "--oidc-issuer-url", issuer.URL, "--oidc-client-id", "kube", "--oidc-ca-file", caFile}, one.Flags...))
	require.NoError(t, err)
	tokens, err := o.Authentication.ApplyTo(&server.Config{}, &o.Authorization)
	require.NoError(t, err)
	o.Authentication.OpenID.Run(t.Context()) // it returns when it knows the keys
	o.Authentication.Bootstrap.Secret = func(_, name string) (*corev1.Secret, error) {
		i := slices.IndexFunc(secrets, func(s authenticatortest.Secret) bool { return s.Name == name })
		if i < 0 {
			return nil, nil
		}
		secret := secrets[i].Object(time.Now())
		if secrets[i].Deleted {
			secret.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}
		return secret, nil
	}
	return tokens
}

// Groups that another server keeps (K120) are in the recording only where that server does not have them.
func TestTokensAreGoodForWhomTodaysServerTakesTheirOwnersFor(t *testing.T) {
	t.Parallel()
	recording, err := authenticatortest.Read(recordedTokens)
	require.NoError(t, err)
	issuer, caFile := issuerFor(t)
	for _, one := range recording.Servers {
		tokens := recordedServer(t, issuer, caFile, one, recording.Secrets)
		for _, shown := range recording.Tokens {
			if shown.Server != one.Name {
				continue
			}
			text, err := issuer.Make(shown, time.Now())
			require.NoError(t, err)
			who, ok, err := tokens.AuthenticateToken(t.Context(), text)
			if ok {
				who = who.Known()
			}
			assert.Equal(t, shown.Answer, authenticatortest.AnswerOf(who, issuer), "%s: %s: %v", one.Name, shown.About, err)
			if err != nil {
				assert.NotContains(t, err.Error(), "\n")
				for _, part := range strings.Split(text, ".") {
					assert.False(t, len(part) > 8 && strings.Contains(err.Error(), part), "a part of the token is in the error")
				}
			}
		}
	}
}

func TestTheRecordingIsWrittenAsItWasRead(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile(recordedTokens)
	require.NoError(t, err)
	recording, err := authenticatortest.Read(recordedTokens)
	require.NoError(t, err)
	got, err := recording.Text()
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
	assert.GreaterOrEqual(t, len(recording.Tokens), 60)
}

func TestARevokedTokenIsGoodForTheTimeThatIsSet(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, authenticator.DefaultCacheTTL} {
		synctest.Test(t, func(t *testing.T) {
			o, err := Parse(strings.Fields("-secure_port 0 -enable_bootstrap_token_auth"))
			require.NoError(t, err)
			o.Authentication.TokenCacheTTL = ttl
			tokens, err := o.Authentication.ApplyTo(&server.Config{}, &o.Authorization)
			require.NoError(t, err)
			secret := &authenticatortest.Secret{Data: map[string]string{"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"}}
			o.Authentication.Bootstrap.Secret = func(string, string) (*corev1.Secret, error) {
				return secret.Object(time.Now()), nil
			}
			ask := func() bool {
				_, ok, err := tokens.AuthenticateToken(t.Context(), "abcdef.0123456789abcdef")
				require.NoError(t, err)
				return ok
			}
			assert.True(t, ask())
			secret.Type = "Opaque"
			if ttl > 0 {
				time.Sleep(ttl - time.Nanosecond)
				assert.True(t, ask())
				time.Sleep(time.Nanosecond)
			}
			assert.False(t, ask())
		})
	}
}

func TestWhatIsWrongWithTheFlagsOfAnIssuerIsTold(t *testing.T) {
	t.Parallel()
	const good = "-secure_port 0 -oidc_issuer_url https://issuer -oidc_client_id kube "
	for flags, want := range map[string]string{
		"-enable_bootstrap_token_auth":                                         "-enable_bootstrap_token_auth: it needs -secure_port",
		"-oidc_issuer_url https://issuer -oidc_client_id kube":                 "-oidc_client_id: it needs -secure_port\n-oidc_issuer_url: it needs -secure_port",
		"-secure_port 0 -oidc_client_id kube -oidc_ca_file x":                  "-oidc_client_id: it needs -oidc_issuer_url\n-oidc_ca_file: it needs -oidc_issuer_url",
		"-secure_port 0 -oidc_issuer_url https://issuer":                       "-oidc_issuer_url: it needs -oidc_client_id",
		"-secure_port 0 -oidc_issuer_url issuer -oidc_client_id kube":          `-oidc_issuer_url: "issuer" is not an https URL`,
		"-secure_port 0 -oidc_issuer_url http://i -oidc_client_id k":           `-oidc_issuer_url: "http://i" is not an https URL`,
		"-secure_port 0 -oidc_issuer_url https://i?q -oidc_client_id k":        `-oidc_issuer_url: "https://i?q" has a user, a query or a fragment, which no issuer has`,
		"-secure_port 0 -oidc_issuer_url https://i#f -oidc_client_id k":        `-oidc_issuer_url: "https://i#f" has a user, a query or a fragment, which no issuer has`,
		"-secure_port 0 -oidc_issuer_url https://u:hidden@i -oidc_client_id k": "-oidc_issuer_url: the value (not shown here) has a user, a query or a fragment, which no issuer has",
		good + "-oidc_required_claim tenant":                                   `-oidc_required_claim: "tenant" is not like name=value`,
		good + "-oidc_required_claim =blue":                                    `-oidc_required_claim: "=blue" is not like name=value`,
		good + "-oidc_username_claim=":                                         "-oidc_username_claim: it is empty",
		good + "-oidc_signing_algs RS256,HS256,RS256":                          `-oidc_signing_algs: "HS256" is not an algorithm of RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512`,
		good + "-oidc_signing_algs none":                                       `-oidc_signing_algs: "none" is not an algorithm of RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512`,
		good + "-oidc_signing_algs RS256,RS256":                                "-oidc_signing_algs: RS256 is named twice",
		good + "-service_account_issuer https://issuer":                        "-oidc_issuer_url: it is that of -service_account_issuer",
	} {
		_, err := Parse(strings.Fields(flags))
		assert.EqualError(t, err, want, flags)
	}
	o, err := Parse(strings.Fields(good + "-oidc_ca_file /nonexistent"))
	require.NoError(t, err)
	_, err = o.Authentication.ApplyTo(&server.Config{}, &o.Authorization)
	assert.ErrorContains(t, err, "-oidc_ca_file: ")
}
