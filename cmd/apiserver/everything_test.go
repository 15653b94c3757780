package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authenticator/authenticatortest"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/client"
	"kube2014/pkg/util/certtest"
	"kube2014/pkg/webhook/webhooktest"
)

// everything is what a server has on: TLS, users, rights, plugins, webhooks and policies among them, and an audit. Its worker has an
// ID token.
type everything struct {
	flags     []string
	authority *certtest.Pair
	sees      *httptest.Server // a webhook that checks what another one has changed
	log       string           // of the audit
	idToken   string           // of the worker
	answers   *atomic.Int64    // to the clients
}

const noPlugins = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
`

// podWebhook is a plugin that asks a server about pods.
const podWebhook = `- name: %sAdmissionWebhook
  configuration:
    apiVersion: admissionregistration.k8s.io/v1
    kind: %[1]sWebhookConfiguration
    metadata: {name: test}
    webhooks:
    - name: pods.example.com
      clientConfig: {url: %[2]q, caBundle: %[3]s}
      rules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
      sideEffects: None
      admissionReviewVersions: [v1]
      timeoutSeconds: %[4]d
      failurePolicy: %[5]s
`

// webhookOf configures a webhook that decides.
func webhookOf(kind string, server *httptest.Server, seconds int, policy string) string {
	return fmt.Sprintf(podWebhook, kind, server.URL, base64.StdEncoding.EncodeToString(webhooktest.CA(server)), seconds, policy)
}

func everythingOn(t *testing.T) everything {
	f := filesOf(t)
	flags, authority := f.secureFlags()
	log := f.path("audit.log")
	notes := hook(t, func(asked *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
		if asked.Operation == admissionv1.Create {
			patch(says, `[{"op": "add", "path": "/metadata/annotations", "value": {"noted": "yes"}}]`)
		}
	})
	sees := hook(t, func(asked *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
		says.Allowed = asked.Operation != admissionv1.Create || strings.Contains(string(asked.Object.Raw), `"noted":"yes"`)
	})
	plugins := noPlugins + webhookOf("Mutating", notes, 10, "Fail")
	issuer, err := authenticatortest.Serve()
	require.NoError(t, err)
	t.Cleanup(issuer.Close)
	idToken, err := issuer.Make(authenticatortest.Token{Claims: map[string]any{"sub": "worker"}}, time.Now())
	require.NoError(t, err)
	return everything{append(flags, "-token_auth_file", f.write("tokens.csv", "admin-token,admin,1,system:masters\n"), "-authorization_mode", "Node,RBAC", "-enable_bootstrap_token_auth",
		"-oidc_issuer_url", issuer.URL, "-oidc_client_id", "kube", "-oidc_ca_file", f.write("issuer.pem", string(issuer.CA)), "-oidc_username_prefix", "-",
		"-admission_control", "NamespaceExists,NodeRestriction,AlwaysPullImages,LimitRanger,MutatingAdmissionWebhook,MutatingAdmissionPolicy,ValidatingAdmissionPolicy,ValidatingAdmissionWebhook,ResourceQuota",
		"-admission_control_config_file", f.write("admission.yaml", plugins),
		"-audit_log_path", log, "-audit_policy_file", f.write("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]\n"),
		"-audit_log_maxsize", "100000", // all lines are in one file
	), authority, sees, log, idToken, &atomic.Int64{}}
}

// limited is a task as the limits want it.
func limited(task api.Task) api.Task {
	task.DesiredState.Manifest.Containers[0].Memory = 64 << 20
	return task
}

const workerMayAll = `{"metadata": {"name": "workers"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
	"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "worker"}]}`

// client returns a client of the first door at a URL of the secure port, whose user has rights by a role.
func (e everything) client(t *testing.T, url string) *client.Client {
	transport := clientWith(t, e.authority.Pool(), nil).Transport
	admin := &http.Client{Transport: unbusy{transport, "admin-token", e.answers}}
	eventually(t, func() bool {
		resp, err := admin.Post(url+roleAPI+"/clusterrolebindings", "application/json", strings.NewReader(workerMayAll))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusConflict
	}, "the worker is given a role")
	const newPods = `"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}`
	for path, body := range map[string]string{
		validating: asks("pods", "/pods", fmt.Sprintf(`"url": %q, "caBundle": %q`, e.sees.URL, base64.StdEncoding.EncodeToString(webhooktest.CA(e.sees))), ""),
		registrations + "mutatingadmissionpolicies": `{"metadata": {"name": "marks"}, "spec": {"reinvocationPolicy": "IfNeeded", ` + newPods + `,
			"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{metadata: Object.metadata{annotations: {'marked': request.userInfo.username}}}"}}]}}`,
		registrations + "mutatingadmissionpolicybindings": `{"metadata": {"name": "marks"}, "spec": {"policyName": "marks"}}`,
		registrations + "validatingadmissionpolicies": `{"metadata": {"name": "sees"}, "spec": {` + newPods + `, "variables": [{"name": "notes", "expression": "object.metadata.annotations"}],
			"validations": [{"expression": "variables.notes.noted == 'yes' && variables.notes.marked == request.userInfo.username"}]}}`,
		registrations + "validatingadmissionpolicybindings": `{"metadata": {"name": "sees"}, "spec": {"policyName": "sees", "validationActions": ["Deny"]}}`,
		todaysLimits: `{"metadata": {"name": "far"}, "spec": {"limits": [{"type": "Container", "max": {"memory": "1Ti"}}]}}`,
		todaysQuotas: `{"metadata": {"name": "far"}, "spec": {"hard": {"pods": "100000", "services": "100000", "replicationcontrollers": "100000"}}}`,
	} {
		eventually(t, func() bool {
			resp, err := admin.Post(url+path, "application/json", strings.NewReader(body))
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			return resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusConflict
		}, "there are limits, far away, webhooks and policies")
	}
	worker := &client.Client{Host: url, HTTP: &http.Client{Transport: unbusy{transport, e.idToken, e.answers}}}
	eventually(t, func() bool {
		_, err := worker.ListTasks(nil)
		return err == nil
	}, "the server knows of it")
	return worker
}

// unbusy sends requests with a token, and again if the server is too busy, as clients of Kubernetes
// do: then nothing was changed. It counts the answers.
type unbusy struct {
	next    http.RoundTripper
	token   string
	answers *atomic.Int64
}

func (p unbusy) RoundTrip(req *http.Request) (*http.Response, error) {
	for {
		attempt := req.Clone(req.Context())
		attempt.Header.Set("Authorization", "Bearer "+p.token)
		if req.GetBody != nil {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			attempt.Body = body
		}
		resp, err := p.next.RoundTrip(attempt)
		if err == nil {
			p.answers.Add(1)
		}
		if err != nil || resp.StatusCode != http.StatusTooManyRequests {
			return resp, err
		}
		_ = resp.Body.Close()
		select {
		case <-req.Context().Done():
			return nil, req.Context().Err()
		case <-time.After(time.Second):
		}
	}
}

// checkAudit checks that each request that was answered has its first and its last line.
func (e everything) checkAudit(t *testing.T) {
	t.Helper()
	var received, complete int
	eventually(t, func() bool { // the last line is written after the answer
		received, complete = e.audited(t)
		return complete >= int(e.answers.Load())
	}, "what was answered is in the audit")
	t.Logf("%d requests were audited", complete)
	assert.EqualValues(t, e.answers.Load(), complete)
	assert.Equal(t, received, complete)
	assert.Positive(t, complete)
}

// audited returns how many requests of users the audit has seen come in, and how many it has seen answered. The server's
// own controllers are none.
func (e everything) audited(t *testing.T) (received, complete int) {
	file, err := os.Open(e.log)
	require.NoError(t, err)
	defer file.Close()
	begun := map[string]bool{} // by request
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return received, complete
		}
		var event struct {
			AuditID, Stage string
			User           struct{ Username string }
		}
		require.NoError(t, json.Unmarshal(line, &event))
		if event.User.Username == user.Unsecured {
			continue
		}
		switch event.Stage {
		case "RequestReceived":
			assert.False(t, begun[event.AuditID], "%s", line)
			begun[event.AuditID] = true
			received++
		case "ResponseComplete":
			assert.True(t, begun[event.AuditID], "%s", line)
			delete(begun, event.AuditID)
			complete++
		}
	}
}
