package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/webhook/webhooktest"
)

// reviewed is a TokenReview, however it is sent.
type reviewed struct{ method, path, contentType, body string }

// reviewsOf returns requests that send a token to be reviewed: rightly, and as people may get it wrong.
func reviewsOf(t *testing.T, token string) (all []reviewed) {
	const path = "/apis/authentication.k8s.io/v1/tokenreviews"
	whole := `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"` + token + `"}}`
	message, err := (&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}).Marshal()
	require.NoError(t, err)
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"}, Raw: message}).Marshal()
	require.NoError(t, err)
	for _, body := range []string{whole, whole[:len(whole)-9], `{"spec":{"token":["` + token + `"]}}`, `{"spec":{"tokens":"` + token + `"}}`, `{"kind":"` + token + `"}`, `{"apiVersion":"a/b/` + token + `"}`,
		`"` + token + `"`, token, `{"` + token + `":1}`, strings.Replace(whole, "TokenReview", "Pod", 1), `{"spec":{"token":"` + token + `"},"spec":{"token":"` + token + `"}}`,
		`{"metadata":{"labels":{"a":"` + token + `"}},"spec":{"token":"x"}}`, `{"spec":{"token":"x","audiences":"` + token + `"}}`} {
		all = append(all, reviewed{"POST", path, "application/json", body})
	}
	for _, query := range []string{"?dryRun=All", "?fieldValidation=Strict", "?pretty=true", "/x", "/"} {
		all = append(all, reviewed{"POST", path + query, "application/json", whole})
	}
	return append(all, reviewed{"POST", path, inYAML, "kind: TokenReview\nspec: {token: " + token + "}\n"}, reviewed{"POST", path, inYAML, "spec: {token: " + token + "\n"},
		reviewed{"POST", path, "application/vnd.kubernetes.protobuf", "k8s\x00" + string(envelope)}, reviewed{"POST", path, "application/vnd.kubernetes.protobuf", string(envelope)},
		reviewed{"POST", path, "text/plain", whole}, reviewed{"POST", path, "application/x-www-form-urlencoded", "token=" + token},
		reviewed{"PUT", path + "/x", "application/json", whole}, reviewed{"PATCH", path + "/x", mergePatch, whole}, reviewed{"DELETE", path, "application/json", whole},
		reviewed{"GET", path, "application/json", whole}, reviewed{"POST", strings.Replace(path, "v1", "v1beta1", 1), "application/json", whole},
		reviewed{"POST", "/apis/authentication.k8s.io/v1/namespaces/default/tokenreviews", "application/json", whole}, reviewed{"POST", todaysPods, "application/json", whole})
}

// Whoever reads the audit with all that it can tell, the log with the trace, the metrics, or an answer, learns no
// token and no key. Only a URL is told as it is, as in 2014.
func TestNoSecretIsToldByTheAuditAndThePlugins(t *testing.T) {
	t.Parallel()
	var hidden secrets
	w := everyWay(t)
	hook := webhooktest.Serve(t, gossips)
	kubeconfig := webhooktest.Kubeconfig(t, hook, "token: "+hidden.add("token-for-the-webhook-b8e4"))
	own, authority := w.secureFlags()
	key, err := os.ReadFile(own[7])
	require.NoError(t, err)
	hidden.add(string(key))
	ann, root := hidden.add("secret-of-ann-1f7a52"), hidden.add("secret-of-root-6c0b9d")
	jwt, forged := w.jwt(jose.ES256, w.signer, nil), w.jwt(jose.HS256, w.public, nil)
	for _, c := range []credentials{jwt, forged} {
		parts := strings.Split(strings.TrimPrefix(c.headers[0], "Authorization: Bearer "), ".")
		hidden.add(parts[1])
		hidden.add(parts[2])
	}
	f := filesOf(t)
	flags := append(own, "-trace", "-audit_policy_file", f.write("policy", tellAll), "-token_auth_file", f.write("tokens", ann+",ann,1\n"+root+",root,2,system:masters\n"),
		"-client_ca_file", w.path("clients.crt"), "-requestheader_client_ca_file", w.path("proxies.crt"), "-service_account_key_file", w.path("sa.pub"),
		"-authentication_token_webhook_config_file", kubeconfig, "-authorization_mode", "RBAC")
	inProtocol := func(token string) string {
		return "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." + hidden.add(base64.RawURLEncoding.EncodeToString([]byte(token))) + ", v4.channel.k8s.io"
	}
	shown := map[string]credentials{
		"a token": bearer(ann), "a token that may all": bearer(root), "a JWT": jwt, "a forged JWT": forged, "a wrong token": bearer(hidden.add("wrong-token-bead5417")),
		"a password":         {headers: []string{"Authorization: Basic " + hidden.add(base64.StdEncoding.EncodeToString([]byte("ann:"+hidden.add("password-of-ann-9d8c7b"))))}},
		"impersonation":      bearer(root).as("Impersonate-User: eve", "Impersonate-Group: g", "Impersonate-Extra-Scopes: s"),
		"forbidden to act":   bearer(ann).as("Impersonate-User: eve"),
		"a token twice":      bearer(root).as("Authorization: Bearer " + hidden.add("second-header-31415926")),
		"a cookie":           bearer(root).as("Cookie: token=" + hidden.add("token-in-a-cookie-27182")),
		"a proxy's password": bearer(root).as("Proxy-Authorization: Basic " + hidden.add("password-of-proxy-16180")),
		"a WebSocket":        {headers: []string{inProtocol(root)}},
		"a certificate":      w.client("carol", nil).as("Authorization: Bearer " + hidden.add("token-beside-carol-1414")),
	}
	for name, plugins := range map[string][]string{
		"all admit":  {"-admission_control", "AlwaysAdmit,AlwaysPullImages,LimitRanger,NamespaceExists,NamespaceLifecycle,ResourceQuota"},
		"all denied": {"-admission_control", "NamespaceExists,AlwaysDeny"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filesOf(t).path("audit.log")
			p := startTalking(t, slices.Concat(flags, plugins, []string{"-audit_log_path", log})...)
			for path, body := range map[string]string{todaysQuotas: `{"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}`, todaysLimits: someLimits} {
				askWith(t, http.DefaultClient, credentials{headers: []string{"Content-Type: application/json"}}, "POST", p.insecure+path, body)
			}
			for what, who := range shown {
				client := clientWith(t, authority.Pool(), who.certificate)
				ask := func(at string, shows credentials, r reviewed) {
					_, text, header := askWith(t, client, shows.as("Content-Type: "+r.contentType), r.method, at+r.path, r.body)
					var told secrets = hidden
					if strings.Contains(r.path, "tokenreviews") && (r.method == "POST" || r.method == "PUT") {
						told = nil // an answer may repeat what was sent to it, as today's server's does
					}
					told.areNotIn(t, text+fmt.Sprint(header), what+": the answer to "+r.method+" "+r.path)
				}
				for _, r := range []reviewed{{"POST", tasksPath, "application/json", taskNamed("one")}, {"POST", tasksPath, "application/json", taskNamed("two")}, {"PUT", taskPath("one"), "application/json", taskNamed("one")},
					{"GET", todaysPods, "application/json", ""}, {"POST", todaysPods, "application/json", podWith("three")}, {"PATCH", todaysPods + "/one", mergePatch, `{"metadata":{"labels":{"a":"b"}}}`},
					{"POST", "/api/v1/namespaces/other/pods", "application/json", podWith("four")}, {"DELETE", taskPath("one"), "application/json", ""}, {"POST", reviewOfOneself, "application/json", aSelfSubjectReview},
					{"GET", "/nothing", "application/json", ""}} {
					ask(p.secure, who, r)
					ask(p.insecure, who, r)
				}
				if what == "a token" || what == "a token that may all" {
					for _, token := range []string{ann, "reviewed-" + hidden[len(hidden)-1]} {
						for _, r := range reviewsOf(t, token) {
							ask(p.secure, who, r)
							ask(p.insecure, credentials{}, r)
						}
					}
				}
				client.CloseIdleConnections()
			}
			status, metrics, _ := askWith(t, http.DefaultClient, credentials{}, "GET", p.insecure+"/metrics", "")
			assert.Equal(t, 200, status)
			assert.Contains(t, metrics, `authentication_attempts{result="error"}`, "it is told at all")
			hidden.areNotIn(t, metrics, "the metrics")
			hidden.areNotIn(t, p.end(), "the log")
			audit, err := os.ReadFile(log)
			require.NoError(t, err)
			hidden.areNotIn(t, string(audit), "the audit")
			for _, told := range []string{`"code":401`, `"code":403`, `"code":404`, `"requestObject"`, `"responseObject"`, `"resource":"tokenreviews"`, `"impersonatedUser":{"username":"eve"`} {
				assert.Contains(t, string(audit), told, "it is told at all")
			}
			for line := range strings.Lines(string(audit)) {
				var event struct {
					RequestReceivedTimestamp metav1.MicroTime
					ObjectRef                struct{ Resource string }
					RequestObject            any
				}
				require.NoError(t, json.Unmarshal([]byte(line), &event), line)
				assert.True(t, event.ObjectRef.Resource != "tokenreviews" || event.RequestObject == nil, line)
			}
		})
	}
}
