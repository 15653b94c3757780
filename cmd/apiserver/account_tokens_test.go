package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube2014/pkg/util/certtest"
)

const accountIssuer = "https://kubernetes.default.svc"

// signingFlags are those of a server that signs the tokens of service accounts.
func (f files) signingFlags() []string {
	_, key := f.pair("accounts", certtest.Authority(f.t, "accounts"))
	return []string{"-service_account_signing_key_file", key, "-service_account_issuer", accountIssuer}
}

const accountsPath = "/api/v1/namespaces/default/serviceaccounts"

// tokenServer is a server with RBAC and an account robot, who may list pods. Its tokens end at once.
func tokenServer(t *testing.T, flags ...string) *secured {
	f := filesOf(t)
	s := openSecureWith(t, revokesAtOnce(), slices.Concat(f.signingFlags(), []string{"-authorization_mode", "RBAC", "-scheduler", "none"}, flags)...)
	s.send(http.StatusCreated, "POST", accountsPath, `{"metadata": {"name": "robot"}}`)
	s.send(http.StatusCreated, "POST", roleAPI+"/namespaces/default/rolebindings",
		`{"metadata": {"name": "robots"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:aggregate-to-view"}, "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}]}`)
	return s
}

// token returns what a server answers to a request for a token of robot, with a spec.
func (s *secured) token(spec string) authenticationv1.TokenRequest {
	s.t.Helper()
	var answer authenticationv1.TokenRequest
	require.NoError(s.t, json.Unmarshal([]byte(s.send(http.StatusCreated, "POST", accountsPath+"/robot/token", `{"spec": {`+spec+`}}`)), &answer))
	return answer
}

// asToken returns the status of the list of pods with a token.
func (s *secured) asToken(token string) int {
	s.t.Helper()
	status, _, _ := askWith(s.t, clientWith(s.t, s.trusted, nil), credentials{}.as("Authorization: Bearer "+token), "GET", s.url+todaysPods, "")
	return status
}

func TestATokenIsGoodForItsAccountWhileThatIsThere(t *testing.T) {
	t.Parallel()
	s := tokenServer(t)
	answer := s.token("")
	assert.Equal(t, "robot", answer.Name)
	assert.Equal(t, []string{accountIssuer}, answer.Spec.Audiences)
	assert.EqualValues(t, 3600, *answer.Spec.ExpirationSeconds)
	assert.Equal(t, answer.CreationTimestamp.Add(3600e9).Unix(), answer.Status.ExpirationTimestamp.Unix())
	assert.Equal(t, http.StatusOK, s.asToken(answer.Status.Token))
	other := s.token(`"audiences": ["vault"]`)
	assert.Equal(t, http.StatusUnauthorized, s.asToken(other.Status.Token), "it is for another server")
	assert.Equal(t, http.StatusUnauthorized, s.asToken(answer.Status.Token+"x"))

	s.send(http.StatusOK, "DELETE", accountsPath+"/robot", "")
	assert.Equal(t, http.StatusUnauthorized, s.asToken(answer.Status.Token))
	s.send(http.StatusCreated, "POST", accountsPath, `{"metadata": {"name": "robot"}}`)
	assert.Equal(t, http.StatusUnauthorized, s.asToken(answer.Status.Token), "it is another account")
	assert.Equal(t, http.StatusOK, s.asToken(s.token("").Status.Token))
}

func TestTheAuditHasTheIDOfEachTokenAndItsUser(t *testing.T) {
	t.Parallel()
	log := filesOf(t).path("audit.log")
	s := tokenServer(t, "-audit_log_path", log)
	s.asToken(s.token("").Status.Token)
	eventually(t, func() bool { // the last line is written after the answer
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		issued := regexp.MustCompile(`"authentication.kubernetes.io/issued-credential-id":"(JTI=[-0-9a-f]{36})"`).FindSubmatch(text)
		return issued != nil && strings.Contains(string(text), `"extra":{"authentication.kubernetes.io/credential-id":["`+string(issued[1])+`"]}`)
	}, "the token that is issued is that of the user")
}

func TestATokenEndsWithItsPod(t *testing.T) {
	t.Parallel()
	s := tokenServer(t)
	pod := podNamed("web")
	pod.Spec.ServiceAccountName = "robot"
	created := s.createPod(pod)
	const ref = `"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web"}`
	token := s.token(ref).Status.Token
	assert.Equal(t, http.StatusOK, s.asToken(token))
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	require.NoError(t, err)
	assert.Contains(t, string(claims), `"pod":{"name":"web","uid":"`+string(created.UID)+`"}`)
	s.send(http.StatusOK, "DELETE", todaysPods+"/web", "")
	assert.Equal(t, http.StatusUnauthorized, s.asToken(token))
	s.createPod(pod)
	assert.Equal(t, http.StatusUnauthorized, s.asToken(token), "it is another pod")
}

// The words are those of today's server.
func TestATokenThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := tokenServer(t)
	s.createPod(podNamed("web"))
	s.send(http.StatusCreated, "POST", "/api/v1/namespaces/default/secrets", `{"metadata": {"name": "key"}}`)
	for _, row := range []struct {
		status           int
		path, body, want string
	}{
		{404, "/nope/token", `{}`, `serviceaccounts \"nope\" not found`},
		{422, "/robot/token", `{"spec": {"expirationSeconds": 599}}`, `TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes`},
		{422, "/robot/token", `{"spec": {"expirationSeconds": 4294967297}}`, `may not specify a duration larger than 2^32 seconds`},
		{422, "/robot/token", `{"metadata": {"name": "other"}}`, `metadata.name: Invalid value: \"other\": must match the service account name if specified`},
		{422, "/robot/token", `{"metadata": {"namespace": "other"}}`, `must match the service account namespace if specified`},
		{409, "/robot/token", `{"metadata": {"uid": "x"}}`, `the UID in the token request (x) does not match the UID of the service account`},
		{404, "/robot/token", `{"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nope"}}}`, `pods \"nope\" not found`},
		{400, "/robot/token", `{"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web"}}}`, `cannot bind token for serviceaccount \"robot\" to pod running with different serviceaccount name.`},
		{404, "/robot/token", `{"spec": {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "nope"}}}`, `nodes \"nope\" not found`},
		{409, "/robot/token", `{"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "key", "uid": "x"}}}`, `the UID in the bound object reference (x) does not match the UID in record.`},
		{400, "/robot/token", `{"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "c"}}}`, `cannot bind token to object of type /v1, Kind=ConfigMap`},
	} {
		assert.Contains(t, s.send(row.status, "POST", accountsPath+row.path, row.body), row.want, row.body)
	}
}

func TestK37ATokenOfAPodIsNotExtended(t *testing.T) {
	t.Parallel()
	s := tokenServer(t)
	pod := podNamed("web")
	pod.Spec.ServiceAccountName = "robot"
	s.createPod(pod)
	token := s.token(`"expirationSeconds": 3607, "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "web"}`).Status.Token
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	require.NoError(t, err)
	var claims struct{ Exp, Iat int64 }
	require.NoError(t, json.Unmarshal(text, &claims))
	assert.EqualValues(t, 3607, claims.Exp-claims.Iat)
}

func TestAServiceAccountReadsTheKeysOfItsIssuer(t *testing.T) {
	t.Parallel()
	f := filesOf(t)
	s := openSecure(t, append(f.signingFlags(), "-authorization_mode", "RBAC", "-scheduler", "none", "-service_account_jwks_uri", "https://keys.example.com/jwks")...)
	s.send(http.StatusCreated, "POST", accountsPath, `{"metadata": {"name": "robot"}}`)
	robot := bearer(s.token("").Status.Token)
	for path, want := range map[string]string{
		"/.well-known/openid-configuration": `{"issuer":"` + accountIssuer + `","jwks_uri":"https://keys.example.com/jwks",`, "/.well-known/openid-configuration/": `{"issuer":`,
		"/openid/v1/jwks": `{"keys":[{"use":"sig",`, "/openid/v1/jwks/": `{"keys":[`,
	} {
		status, text, header := askWith(t, clientWith(t, s.trusted, nil), robot, "GET", s.url+path, "")
		assert.Equal(t, http.StatusOK, status, path)
		assert.Contains(t, text, want, path)
		assert.Equal(t, "public, max-age=3600", header.Get("Cache-Control"), path)
		status, _, _ = askWith(t, clientWith(t, s.trusted, nil), robot, "POST", s.url+path, "")
		assert.Equal(t, http.StatusForbidden, status, path)
		status, _, _ = askWith(t, clientWith(t, s.trusted, nil), credentials{}, "GET", s.url+path, "")
		assert.Equal(t, http.StatusForbidden, status, "%s is for accounts", path)
		s.send(http.StatusMethodNotAllowed, "POST", path, "")
	}
	openDoors(t).send(http.StatusNotFound, "GET", "/openid/v1/jwks", "")
}

func TestTheKeysAreAtTheSecurePort(t *testing.T) {
	t.Parallel()
	f := filesOf(t)
	own, _ := f.secureFlags()
	cmd, log := bareProgram(t, unhurried, slices.Concat(own, f.signingFlags(), []string{"-port", "0"})...)
	at := log.find(`serves (http://127\.0\.0\.1:\d+)/api/v1beta1 and /api/v1 and /ui/, (https://127\.0\.0\.1:\d+)/`)
	_, text := getText(t, at[1]+"/.well-known/openid-configuration")
	assert.Contains(t, text, `"jwks_uri":"`+at[2]+`/openid/v1/jwks"`)
	require.NoError(t, cmd.Process.Kill())
}
