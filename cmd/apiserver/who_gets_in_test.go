package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube2014/pkg/auth/authenticator/authenticatortest"
	"kube2014/pkg/util/certtest"
)

// entrance is what somebody shows, and whom the server takes it for: "" if for nobody.
type entrance struct {
	shows  credentials
	user   string
	groups string
}

const nobodysName, everyone = "system:anonymous", " system:authenticated"

// entrances are ways to get in, and ways not to.
func (w *who) entrances() map[string]entrance {
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(w.t, err)
	others := certtest.Authority(w.t, "others")
	in := func(groups ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.Subject.Organization = groups }
	}
	header := func(text string) credentials { return credentials{headers: []string{"Authorization: " + text}} }
	const bob, bobs = "bob", "builders testers" + everyone
	return map[string]entrance{
		"nothing": {credentials{}, nobodysName, "system:unauthenticated"},

		"a token":                              {bearer(rightToken), bob, bobs},
		"a token after another form of Bearer": {header("bEARER " + rightToken), bob, bobs},
		"a token with a space after it":        {header("Bearer " + rightToken + " "), bob, bobs},
		"another token":                        {bearer("another"), "", ""},
		"a token in capitals":                  {bearer(strings.ToUpper(rightToken)), "", ""},
		"a token in small letters":             {bearer(strings.ToLower(rightToken)), "", ""},
		"the beginning of a token":             {bearer(rightToken[:len(rightToken)-1]), "", ""},
		"a token and more":                     {bearer(rightToken + "x"), "", ""},
		"a token and a word":                   {bearer(rightToken + " x"), "", ""},
		"a token with a quote":                 {bearer(`"` + rightToken + `"`), "", ""},
		"a token and its line":                 {bearer(rightToken + ",bob,2"), "", ""},
		"no token":                             {header("Bearer"), "", ""},
		"a token without Bearer":               {header(rightToken), "", ""},
		"a token after another word":           {header("Token " + rightToken), "", ""},
		"an empty header":                      {header(""), "", ""},
		"a name and a password":                {header("Basic Ym9iOlJpZ2h0LVRva2VuLTVjMWU="), "", ""},

		"a certificate":                    {w.client("carol", in("drivers", "pilots")), "carol", "pilots drivers" + everyone},
		"a certificate of another signer":  {credentials{certificate: others.Client(w.t, "carol", nil)}, "", ""},
		"a certificate signed by itself":   {credentials{certificate: certtest.Authority(w.t, "carol")}, "", ""},
		"a certificate of a like signer":   {credentials{certificate: certtest.Authority(w.t, "clients").Client(w.t, "carol", nil)}, "", ""},
		"an expired certificate":           {w.client("carol", func(c *x509.Certificate) { c.NotAfter = time.Date(2014, 6, 6, 0, 0, 0, 0, time.UTC) }), "", ""},
		"a certificate of tomorrow":        {w.client("carol", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(24 * time.Hour) }), "", ""},
		"the certificate of a server":      {w.client("carol", local), "", ""},
		"a certificate without a name":     {w.client("", func(c *x509.Certificate) { c.Subject = pkix.Name{Organization: []string{"system:masters"}} }), "", ""},
		"a certificate and a wrong token":  {w.client("carol", nil).as("Authorization: Bearer wrong"), "carol", everyone[1:]},
		"a wrong certificate, and a token": {credentials{certificate: others.Client(w.t, "carol", nil)}.as("Authorization: Bearer " + rightToken), bob, bobs},
		"a wrong certificate and token":    {credentials{certificate: others.Client(w.t, "carol", nil)}.as("Authorization: Bearer wrong"), "", ""},

		"a proxy":                            {w.proxy("front-proxy", "X-Remote-User: dora", "X-Remote-Group: a", "X-Remote-Group: b"), "dora", "a b" + everyone},
		"another name of the proxy":          {w.proxy("other-proxy", "X-Remote-User: dora"), "dora", everyone[1:]},
		"a proxy that tells no user":         {w.proxy("front-proxy", "X-Remote-Group: system:masters"), "", ""},
		"a proxy of a wrong name":            {w.proxy("carol", "X-Remote-User: dora"), "", ""},
		"a proxy of another signer":          {credentials{[]string{"X-Remote-User: dora"}, w.clients.Client(w.t, "front-proxy", nil)}, "front-proxy", everyone[1:]},
		"a proxy's headers":                  {credentials{headers: []string{"X-Remote-User: dora", "X-Remote-Group: system:masters"}}, nobodysName, "system:unauthenticated"},
		"a proxy's headers and a token":      {bearer(rightToken).as("X-Remote-User: dora", "X-Remote-Group: system:masters"), bob, bobs},
		"a certificate and a proxy's header": {w.client("carol", nil).as("X-Remote-User: dora", "X-Remote-Group: system:masters"), "carol", everyone[1:]},

		"a service account": {w.jwt(jose.ES256, w.signer, nil), "system:serviceaccount:default:robot",
			"system:serviceaccounts system:serviceaccounts:default" + everyone},
		"a service account of another signer": {w.jwt(jose.ES256, stranger, nil), "", ""},
		"an expired service account":          {w.jwt(jose.ES256, w.signer, map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), "", ""},
		"a service account for others":        {w.jwt(jose.ES256, w.signer, map[string]any{"aud": "others"}), "", ""},
		"a service account, of another name":  {w.jwt(jose.ES256, w.signer, map[string]any{"sub": "system:serviceaccount:kube-system:robot"}), "", ""},
		"signed by the public key's text":     {w.jwt(jose.HS256, w.public, nil), "", ""},
		"not signed at all":                   {unsigned(`{"iss":"kubernetes/serviceaccount","sub":"system:serviceaccount:default:robot"}`), "", ""},

		"a token that the webhook knows": {bearer(webhookToken), "hooked", "hooks" + everyone},

		"a bootstrap token":                   {bearer(joinToken), "system:bootstrap:abcdef", "system:bootstrappers" + everyone},
		"a bootstrap token of another secret": {bearer(joinToken[:len(joinToken)-1] + "0"), "", ""},
		"a bootstrap token of no secret":      {bearer("abcdee" + joinToken[6:]), "", ""},

		"an ID token": {w.idToken(authenticatortest.Token{Claims: map[string]any{"groups": []string{"dev", "ops"}}}), w.issuer.URL + "#ann", "dev ops" + everyone},
		"an ID token of another user who says to be somebody": {w.idToken(authenticatortest.Token{Claims: map[string]any{"sub": "admin"}}), w.issuer.URL + "#admin", everyone[1:]},
		"an expired ID token":                    {w.idToken(authenticatortest.Token{Times: map[string]int{"exp": -60}}), "", ""},
		"an ID token for others":                 {w.idToken(authenticatortest.Token{Claims: map[string]any{"aud": "others"}}), "", ""},
		"an ID token of another key":             {w.idToken(authenticatortest.Token{Key: "other", Header: map[string]any{"kid": "rsa"}}), "", ""},
		"an ID token of an algorithm not listed": {w.idToken(authenticatortest.Token{Key: "p384"}), "", ""},
		"an ID token not signed at all":          {w.idToken(authenticatortest.Token{Header: map[string]any{"alg": "none"}}), "", ""},
		"an ID token signed by the public key":   {w.idToken(authenticatortest.Token{Header: map[string]any{"alg": "HS256"}}), "", ""},

		"as another one":               {bearer(adminToken).as("Impersonate-User: eve"), "eve", everyone[1:]},
		"as another one of groups":     {bearer(adminToken).as("Impersonate-User: eve", "Impersonate-Group: x", "Impersonate-Group: y"), "eve", "x y" + everyone},
		"as another one, not known":    {bearer("wrong").as("Impersonate-User: eve"), "", ""},
		"as one who may act as others": {bearer(adminToken).as("Impersonate-User: eve", "Impersonate-Group: system:masters"), "eve", "system:masters" + everyone},
	}
}

const firstDoorsTasks, reviewOfOneself = "/api/v1beta1/tasks", "/apis/authentication.k8s.io/v1/selfsubjectreviews"

const aSelfSubjectReview = `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`

// userOf returns who the server says that asks, with the groups after it.
func userOf(t *testing.T, text string) string {
	var review authenticationv1.SelfSubjectReview
	require.NoError(t, json.Unmarshal([]byte(text), &review), text)
	return review.Status.UserInfo.Username + " in " + strings.Join(review.Status.UserInfo.Groups, " ")
}

const unauthorizedStatus = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}` + "\n"

// bodyIs requires a status and a body.
func (s *secured) bodyIs(t *testing.T, wanted int, body string, shows credentials, method, path, sent string) {
	t.Helper()
	status, text := s.ask(t, shows, method, path, sent)
	assert.Equal(t, wanted, status, path)
	assert.Equal(t, body, text, path)
}

// TestWhoGetsIn: with bad credentials nobody is anonymous, whatever else the request has.
func TestWhoGetsIn(t *testing.T) {
	t.Parallel()
	w := everyWay(t)
	modes := map[string]*secured{
		"anonymous":         openSecure(t, append(w.flags, "-authorization_mode", "RBAC")...),
		"nobody anonymous":  openSecure(t, append(w.flags, "-authorization_mode", "RBAC", "-anonymous_auth=false")...),
		"everybody may all": openSecure(t, append(w.flags, "-anonymous_auth")...),
	}
	for _, s := range modes {
		s.join()
	}
	for name, e := range w.entrances() {
		for mode, s := range modes {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				everybodyGetsInAtTheInsecurePort(t, s, e.shows)
				switch {
				case e.user == "", e.user == nobodysName && mode != "anonymous":
					s.bodyIs(t, http.StatusUnauthorized, "Unauthorized", e.shows, "GET", firstDoorsTasks, "")
					s.bodyIs(t, http.StatusUnauthorized, "Unauthorized", e.shows, "GET", "/healthz", "")
					s.bodyIs(t, http.StatusUnauthorized, unauthorizedStatus, e.shows, "GET", todaysPods, "")
					s.bodyIs(t, http.StatusUnauthorized, unauthorizedStatus, e.shows, "POST", reviewOfOneself, aSelfSubjectReview)
					return
				case e.user == nobodysName:
					s.bodyIs(t, http.StatusForbidden, forbiddenTo(nobodysName, "create", "selfsubjectreviews", "authentication.k8s.io", ""), e.shows, "POST", reviewOfOneself, aSelfSubjectReview)
				default:
					status, text := s.ask(t, e.shows, "POST", reviewOfOneself, aSelfSubjectReview)
					assert.Equal(t, http.StatusCreated, status)
					assert.Equal(t, e.user+" in "+e.groups, userOf(t, text))
				}
				if mode == "everybody may all" || strings.Contains(e.groups, "system:masters") {
					status, text := s.ask(t, e.shows, "GET", firstDoorsTasks, "")
					assert.Equal(t, http.StatusOK, status)
					assert.Contains(t, text, `"items": []`)
					status, _ = s.ask(t, e.shows, "GET", todaysPods, "")
					assert.Equal(t, http.StatusOK, status)
					return
				}
				s.bodyIs(t, http.StatusForbidden, fmt.Sprintf(`Forbidden: User %q cannot list resource "pods" in API group "" in the namespace "default"`, e.user), e.shows, "GET", firstDoorsTasks, "")
				s.bodyIs(t, http.StatusForbidden, forbiddenTo(e.user, "list", "pods", "", "default"), e.shows, "GET", todaysPods, "")
			})
		}
	}
}

// forbiddenTo returns the Status that tells a user so.
func forbiddenTo(name, verb, resource, group, namespace string) string {
	scope, qualified, details := "at the cluster scope", resource, fmt.Sprintf(`{"kind":%q}`, resource)
	if namespace != "" {
		scope = fmt.Sprintf(`in the namespace \"%s\"`, namespace)
	}
	if group != "" {
		qualified, details = resource+"."+group, fmt.Sprintf(`{"group":%q,"kind":%q}`, group, resource)
	}
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API group \"%s\" %s","reason":"Forbidden","details":%s,"code":403}`+"\n",
		qualified, name, verb, resource, group, scope, details)
}

func everybodyGetsInAtTheInsecurePort(t *testing.T, s *secured, shows credentials) {
	for path, want := range map[string]string{firstDoorsTasks: `"items": []`, todaysPods: "PodList", "/healthz": "ok"} {
		status, text, _ := askWith(t, http.DefaultClient, shows, "GET", s.insecure+path, "")
		assert.Equal(t, http.StatusOK, status)
		assert.Contains(t, text, want)
	}
	_, text, _ := askWith(t, http.DefaultClient, shows, "POST", s.insecure+reviewOfOneself, aSelfSubjectReview)
	assert.Equal(t, "system:unsecured in system:masters system:authenticated", userOf(t, text))
}

func TestWhoMayNotActAsAnotherIsToldSoAtBothDoors(t *testing.T) {
	t.Parallel()
	w := everyWay(t)
	s := openSecure(t, append(w.flags, "-authorization_mode", "RBAC")...)
	shows := bearer(rightToken).as("Impersonate-User: admin", "Impersonate-Group: system:masters")
	s.bodyIs(t, http.StatusForbidden, `Forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope`, shows, "GET", firstDoorsTasks, "")
	s.bodyIs(t, http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"users \"admin\" is forbidden: User \"bob\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope","reason":"Forbidden","details":{"name":"admin","kind":"users"},"code":403}`+"\n",
		shows, "GET", todaysPods, "")
	anonymous := credentials{headers: []string{"Impersonate-User: admin"}}
	s.bodyIs(t, http.StatusForbidden, `Forbidden: User "system:anonymous" cannot impersonate resource "users" in API group "" at the cluster scope`, anonymous, "GET", firstDoorsTasks, "")
}

// A webhook that cannot be reached makes nobody anonymous, and keeps nobody out whom others know.
func TestATokenThatNobodyCanBeAskedAboutIsNotAnonymous(t *testing.T) {
	t.Parallel()
	w := everyWay(t)
	away := w.write("away.yaml", `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: a, user: u}}],
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {}}]}`)
	s := openSecure(t, append(w.flags, "-authentication_token_webhook_config_file", away, "-authorization_mode", "RBAC")...)
	s.bodyIs(t, http.StatusUnauthorized, "Unauthorized", bearer(webhookToken), "GET", firstDoorsTasks, "")
	_, text := s.ask(t, bearer(rightToken), "POST", reviewOfOneself, aSelfSubjectReview)
	assert.Equal(t, "bob in builders testers system:authenticated", userOf(t, text))
}
