package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"kube2014/pkg/auth/authenticator/authenticatortest"
	"kube2014/pkg/master"
	"kube2014/pkg/options"
	"kube2014/pkg/util/certtest"
	"kube2014/pkg/webhook/webhooktest"
)

// secrets are texts that stand nowhere but where they are needed.
type secrets []string

// add adds a text, and parts of it that would tell enough.
func (s *secrets) add(text string) string {
	text = strings.TrimSpace(text)
	*s = append(*s, text)
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return c == '.' || c == '\n' || c == ':' }) {
		if len(part) > 15 && !strings.HasPrefix(part, "-----") {
			*s = append(*s, part[:12], part[len(part)-12:])
		}
	}
	return text
}

// areNotIn requires that a text has none of them.
func (s secrets) areNotIn(t *testing.T, text, what string) {
	t.Helper()
	for _, secret := range s {
		if i := strings.Index(text, secret); i >= 0 {
			assert.Fail(t, what+" tells "+secret, text[max(0, i-300):min(len(text), i+300)])
			return
		}
	}
}

// keyText returns the private key of a pair, of which each line is a secret.
func (s *secrets) keyText(t *testing.T, pair *certtest.Pair) string {
	key := pair.KeyPEM
	s.add(string(key))
	return string(key)
}

// gossips is a webhook that tells all that it hears.
func gossips(rw http.ResponseWriter, req *http.Request) {
	text, _ := io.ReadAll(req.Body)
	var kind struct{ Kind string }
	_ = json.Unmarshal(text, &kind)
	heard := req.Header.Get("Authorization") + string(text)
	switch {
	case strings.Contains(string(text), "make-it-fail"):
		rw.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(rw, heard)
	case kind.Kind == "TokenReview":
		var review authenticationv1.TokenReview
		_ = json.Unmarshal(text, &review)
		review.Status.Error = "nobody has the token " + review.Spec.Token
		_ = json.NewEncoder(rw).Encode(review)
	default:
		var review authorizationv1.SubjectAccessReview
		_ = json.Unmarshal(text, &review)
		review.Status.Reason = "the webhook does not know you"
		_ = json.NewEncoder(rw).Encode(review)
	}
}

// TestNoSecretIsTold: whoever reads what a server logs, traces or answers learns no token, no key
// and no password.
func TestNoSecretIsTold(t *testing.T) {
	t.Parallel()
	var hidden secrets
	w := everyWay(t)
	hook := webhooktest.Serve(t, gossips)
	kubeconfig := webhooktest.Kubeconfig(t, hook, "token: "+hidden.add("token-for-the-webhook-a7f3"))
	own, authority := w.secureFlags()
	serverKey, err := os.ReadFile(own[7])
	require.NoError(t, err)
	hidden.add(string(serverKey))
	tokens := map[string]string{"ann": hidden.add("secret-of-ann-81c2d3"), "root": hidden.add("secret-of-root-99e0f1")}
	jwts := w.jwt(jose.ES256, w.signer, nil)
	forged := w.jwt(jose.HS256, w.public, nil)
	for _, c := range []credentials{jwts, forged} {
		parts := strings.Split(strings.TrimPrefix(c.headers[0], "Authorization: Bearer "), ".")
		hidden.add(parts[1])
		hidden.add(parts[2])
	}
	idToken, forgedID := w.idToken(authenticatortest.Token{}), w.idToken(authenticatortest.Token{Key: "other"})
	expiredID, brokenID := w.idToken(authenticatortest.Token{Times: map[string]int{"exp": -60}}), w.idToken(authenticatortest.Token{Payload: `{"iss": "$issuer", "x": "told-in-a-broken-one"`})
	for _, c := range []credentials{idToken, forgedID, expiredID, brokenID} {
		parts := strings.Split(strings.TrimPrefix(c.headers[0], "Authorization: Bearer "), ".")
		hidden.add(parts[1])
		hidden.add(parts[2])
	}
	hidden.add(joinToken)
	f := filesOf(t)
	etcdPassword := f.write("password", hidden.add("password-of-etcd-5b6c7d")+"\n")
	flags := append(own, "-trace", "-profiling", "-contention_profiling", "-token_auth_file", f.write("tokens", tokens["ann"]+",ann,1\n"+tokens["root"]+",root,2,system:masters\n"),
		"-client_ca_file", w.path("clients.crt"), "-requestheader_client_ca_file", w.path("proxies.crt"), "-service_account_key_file", w.path("sa.pub"),
		"-authentication_token_webhook_config_file", kubeconfig, "-authorization_mode", "ABAC,Webhook,RBAC", "-authorization_webhook_config_file", kubeconfig,
		"-authorization_policy_file", f.write("policy", `{"user":"carol","resource":"pods"}`+"\n"), "-enable_bootstrap_token_auth",
		"-oidc_issuer_url", w.issuer.URL, "-oidc_client_id", "kube", "-oidc_ca_file", w.path("issuer.pem"))
	shown := map[string]credentials{
		"a token": bearer(tokens["ann"]), "a token that may all": bearer(tokens["root"]), "a JWT": jwts, "a forged JWT": forged,
		"an ID token": idToken, "a forged ID token": forgedID, "an expired ID token": expiredID, "a broken ID token": brokenID,
		"a bootstrap token": bearer(joinToken), "a wrong bootstrap token": bearer(joinToken[:7] + hidden.add("wrong67890123456")),
		"a wrong token": bearer(hidden.add("wrong-token-c0ffee12")), "a token that makes the webhook fail": bearer(hidden.add("make-it-fail-deadbeef")),
		"a password":           {headers: []string{"Authorization: Basic " + hidden.add(base64.StdEncoding.EncodeToString([]byte("ann:"+hidden.add("password-of-ann-4e5f6a"))))}},
		"another word":         {headers: []string{"Authorization: Secret " + hidden.add("another-words-token-77")}},
		"two tokens":           bearer(hidden.add("first-of-two-tokens-88") + " " + hidden.add("second-of-two-tokens-99")),
		"impersonation":        bearer(tokens["root"]).as("Impersonate-User: eve"),
		"forbidden to act":     bearer(tokens["ann"]).as("Impersonate-User: eve"),
		"a certificate":        w.client("carol", nil).as("Authorization: Bearer " + hidden.add("token-beside-the-one-of-carol")),
		"a wrong certificate":  credentials{certificate: certtest.Authority(t, "x").Client(t, "carol", nil)}.as("Authorization: Bearer " + tokens["ann"]),
		"a proxy with a token": w.proxy("proxy", "X-Remote-User: dora").as("Authorization: Bearer " + hidden.add("token-behind-a-proxy-55")),
	}
	for name, more := range map[string][]string{
		"with all guards": nil,
		"without an etcd": {"-etcd_servers", "http://127.0.0.1:1", "-storage_backend", "etcd3", "-etcd_username", "kube", "-etcd_password_file", etcdPassword},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startTalking(t, append(slices.Clone(flags), more...)...)
			if more == nil {
				status, _, _ := askWith(t, http.DefaultClient, credentials{}, "POST", p.insecure+joinSecrets, secretOfJoinToken)
				require.Equal(t, http.StatusCreated, status)
			}
			for what, who := range shown {
				client := clientWith(t, authority.Pool(), who.certificate)
				requests := [][2]string{{"GET", firstDoorsTasks}, {"POST", firstDoorsTasks}, {"GET", todaysPods + "/x"}, {"DELETE", todaysPods}, {"POST", reviewOfOneself}, {"GET", "/unknown"},
					{"GET", "/readyz?verbose"}, {"GET", "/debug/pprof/cmdline"}, {"OPTIONS", "/"}, {"GET", roleAPI + "/clusterroles"}}
				if strings.Contains(what, "fail") {
					requests = requests[:1] // the webhook is asked again and again
				}
				for _, r := range requests {
					_, text, header := askWith(t, client, who, r[0], p.secure+r[1], "{}")
					hidden.areNotIn(t, text+fmt.Sprint(header), what+": the answer to "+r[0]+" "+r[1])
				}
				client.CloseIdleConnections()
				_, text, header := askWith(t, http.DefaultClient, who, "GET", p.insecure+todaysPods, "")
				hidden.areNotIn(t, text+fmt.Sprint(header), what+": the answer of the insecure port")
			}
			review := fmt.Sprintf(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":%q}}`, tokens["root"])
			askWith(t, clientWith(t, authority.Pool(), nil), bearer(tokens["root"]), "POST", p.secure+"/apis/authentication.k8s.io/v1/tokenreviews", review)
			log := p.end()
			hidden.areNotIn(t, log, "the log")
			for _, traced := range []string{"Authenticator.AuthenticateRequest", "Authorizer.Authorize(", "not authenticated: "} {
				assert.Contains(t, log, traced, "it is logged and traced at all")
			}
		})
	}
}

// talking is a program whose whole log is kept.
type talking struct {
	t                *testing.T
	cmd              *exec.Cmd
	mu               sync.Mutex
	said             strings.Builder
	insecure, secure string
}

// Write keeps what the program says.
func (p *talking) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(text)
}

func (p *talking) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

var bothPorts = regexp.MustCompile(`serves (http://127\.0\.0\.1:\d+)\S* and \S+ and /ui/, (https://127\.0\.0\.1:\d+)/`)

func startTalking(t *testing.T, flags ...string) *talking {
	p := &talking{t: t, cmd: exec.Command(os.Args[0], append([]string{"-port", "0"}, flags...)...)}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(os.Environ(), asProgram+"="+hurried), p, p
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it has ended, if the test went well
	eventually(t, func() bool { return bothPorts.MatchString(p.log()) }, "it serves")
	at := bothPorts.FindStringSubmatch(p.log())
	p.insecure, p.secure = at[1], at[2]
	return p
}

// end ends the program, and returns all that it has said.
func (p *talking) end() string {
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	_ = p.cmd.Wait() // the log tells how it ended
	return p.log()
}

// TestNoSecretIsToldAtTheStart: each file is given to each flag that reads one, by mistake.
func TestNoSecretIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	var hidden secrets
	f := filesOf(t)
	own, authority := f.secureFlags()
	key := hidden.keyText(t, authority)
	token := hidden.add("token-in-a-file-1a2b3c")
	texts := map[string]string{
		"tokens": token + ",ann,1\n" + hidden.add("second-token-4d5e6f") + ",\"bob\n", "tokens of a user with a colon": token + ",a: b,1\n", "a token": token, "a password with a colon": token + ": x",
		"a key": key, "half a key": key[:len(key)/2], "a key in capitals": strings.ReplaceAll(key, "PRIVATE KEY", "CERTIFICATE"),
		"a key without its lines": string(must(t)(pemBytes(key))), "a kubeconfig": "{apiVersion: v1, kind: Config, users: [{name: u, user: {token: " + token + "}}]}",
		"a broken kubeconfig": "users: [{name: u, user: {token: " + token + "\n  x: {", "a kubeconfig with a list for a token": "{kind: Config, users: [{name: u, user: {token: [" + token + "]}}]}",
		"a wrong field": `{"kind":"Config","users":[{"user":{"tocken":"` + token + `"}}]}`, "a policy": `{"user":"` + token + `","resource":` + token + `}`, "a policy of numbers": `{"user":["` + token + `"]}`,
	}
	paths := map[string]string{}
	for name, text := range texts {
		paths[name] = f.write(strings.ReplaceAll(name, " ", "-"), text)
	}
	for name := range paths {
		for _, flag := range [][]string{{"-token_auth_file"}, {"-client_ca_file"}, {"-requestheader_client_ca_file"}, {"-service_account_key_file"}, {"-authentication_token_webhook_config_file"},
			{"-authorization_mode", "ABAC", "-authorization_policy_file"}, {"-authorization_mode", "Webhook", "-authorization_webhook_config_file"},
			{"-kubelet_https", "-kubelet_certificate_authority"}, {"-kubelet_https", "-kubelet_client_key", own[7], "-kubelet_client_certificate"}, {"-kubelet_https", "-kubelet_client_certificate", own[5], "-kubelet_client_key"},
			{"-proxy_client_key_file", own[7], "-proxy_client_cert_file"}, {"-proxy_client_cert_file", own[5], "-proxy_client_key_file"},
			{"-oidc_issuer_url", "https://i", "-oidc_client_id", "kube", "-oidc_ca_file"}, {"-tls_cert_file"}, {"-tls_private_key_file"}, {"-etcd_servers", "https://127.0.0.1:1", "-etcd_cafile"}, {"-etcd_servers", "https://127.0.0.1:1", "-etcd_certfile", own[5], "-etcd_keyfile"}} {
			o, err := options.Parse(slices.Concat(own, flag, []string{paths[name]}))
			if err == nil {
				var m *master.Master
				if m, err = createMaster(config, o, io.Discard); err == nil {
					m.Close()
				}
			}
			if err != nil {
				hidden.areNotIn(t, err.Error(), "the error of "+flag[len(flag)-1]+" for "+name)
			}
		}
	}
	all := slices.Sorted(maps.Keys(paths))
	lines := refusedStart(t, append(own, "-token_auth_file", paths[all[0]], "-client_ca_file", paths["a key"], "-service_account_key_file", paths["tokens"], "-authorization_mode", "ABAC",
		"-authorization_policy_file", paths["a policy"], "-authentication_token_webhook_config_file", paths["a broken kubeconfig"])...)
	hidden.areNotIn(t, strings.Join(lines, "\n"), "the program")
}

func must(t *testing.T) func([]byte, error) []byte {
	return func(text []byte, err error) []byte {
		require.NoError(t, err)
		return text
	}
}

// pemBytes returns a PEM text in one line of the base64 format.
func pemBytes(text string) ([]byte, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("there is no PEM")
	}
	return []byte(base64.StdEncoding.EncodeToString(block.Bytes)), nil
}
