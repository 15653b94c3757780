package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// withKubelet creates a node, whose kubelet begins every stream and ends it at once, and the pod web on it. The kubelet counts.
func withKubelet(t *testing.T, send func(wanted int, method, path, mediaType, body string) string) (asked *atomic.Int64) {
	asked = &atomic.Int64{}
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked.Add(1)
		if protocol := req.Header.Get("Upgrade"); protocol != "" {
			upgradeTo(w, protocol)
			if conn, _, err := http.NewResponseController(w).Hijack(); assert.NoError(t, err) {
				_ = conn.Close()
			}
		}
	}))
	t.Cleanup(kubelet.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(kubelet.URL, "http://"), ":")
	send(http.StatusCreated, "POST", "/api/v1/nodes", "application/json", `{"metadata":{"name":"m"}}`)
	send(http.StatusOK, "PATCH", "/api/v1/nodes/m/status", mergePatch,
		`{"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":`+port+`}}}}`)
	send(http.StatusCreated, "POST", todaysPods, "application/json", `{"metadata":{"name":"web"},"spec":{"nodeName":"m","containers":[{"name":"c","image":"i"}]}}`)
	return asked
}

func TestWhoExecutesNeedsTheRightToCreateWhateverTheMethod(t *testing.T) {
	t.Parallel()
	f := filesOf(t)
	log := f.path("audit.log")
	s := openSecure(t, "-authorization_mode", "RBAC", "-scheduler", "none", "-token_auth_file", f.write("tokens", "admin,admin,1,system:masters\nreads,reads,2\ncreates,creates,3\nboth,both,4\n"),
		"-audit_log_path", log, "-audit_policy_file", f.write("policy.yaml", tellAll))
	require.NoError(t, s.BootstrapNamespaces(t.Context()))
	client := clientWith(t, s.trusted, nil)
	client.Transport.(*http.Transport).ForceAttemptHTTP2 = false
	send := func(user, method, path, body string, headers ...string) (status int, text string) {
		status, text, _ = askWith(t, client, bearer(user).as(headers...), method, s.url+path, body)
		return status, text
	}
	asked := withKubelet(t, func(wanted int, method, path, mediaType, body string) string {
		status, text := send("admin", method, path, body, "Content-Type: "+mediaType, "Content-Type: "+mediaType)
		require.Equal(t, wanted, status, text)
		return text
	})
	for user, verbs := range map[string]string{"reads": `"get"`, "creates": `"create"`, "both": `"get","create"`} {
		const at = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
		status, text := send("admin", "POST", at+"roles", `{"metadata":{"name":"`+user+`"},"rules":[{"apiGroups":[""],"resources":["pods/exec","pods/attach","pods/portforward","pods/proxy"],"verbs":[`+verbs+`]}]}`)
		require.Equal(t, http.StatusCreated, status, text)
		status, text = send("admin", "POST", at+"rolebindings", `{"metadata":{"name":"`+user+`"},"subjects":[{"kind":"User","name":"`+user+`"}],"roleRef":{"kind":"Role","name":"`+user+`"}}`)
		require.Equal(t, http.StatusCreated, status, text)
	}
	const refused = `pods "web" is forbidden: User "%s" cannot %s resource "pods/%s" in API group "" in the namespace "default"`
	for i, row := range []struct{ user, method, verb string }{
		{"admin", "GET", ""}, {"admin", "POST", ""},
		{"reads", "GET", "create"}, {"reads", "POST", "create"},
		{"creates", "GET", "get"}, {"creates", "POST", ""},
		{"both", "GET", ""}, {"both", "POST", ""},
	} {
		for _, sub := range []string{"exec?command=ls&stdout=true", "attach?stdout=true", "portforward?ports=1"} {
			before, id := asked.Load(), fmt.Sprint("request-", i, sub[:4])
			status, text := send(row.user, row.method, todaysPods+"/web/"+sub, "", "Connection: Upgrade", "Upgrade: SPDY/3.1", "Audit-ID: "+id)
			code := http.StatusSwitchingProtocols
			if row.verb != "" {
				code = http.StatusForbidden
				name, _, _ := strings.Cut(sub, "?")
				assert.Equal(t, fmt.Sprintf(refused, row.user, row.verb, name), fromYAML[metav1.Status](t, text).Message)
			}
			assert.Equal(t, code, status, "%v %s", row, sub)
			assert.Equal(t, row.verb == "", asked.Load() > before, "the kubelet is asked only by whoever may")
			var stages []auditv1.Stage
			for _, line := range linesOf(t, log, id, 3) {
				var event auditv1.Event
				require.NoError(t, json.Unmarshal([]byte(line), &event))
				stages = append(stages, event.Stage)
				assert.Equal(t, map[string]string{"GET": "get", "POST": "create"}[row.method], event.Verb)
				if event.Stage != auditv1.StageRequestReceived {
					assert.EqualValues(t, code, event.ResponseStatus.Code, line)
				}
			}
			assert.Equal(t, []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted, auditv1.StageResponseComplete}, stages)
		}
	}
	status, text := send("reads", "GET", todaysPods+"/web/proxy/", "")
	assert.Equal(t, http.StatusBadRequest, status, "a web server is read by GET: %s", text)
	status, _ = send("reads", "PUT", todaysPods+"/web/proxy/", "")
	assert.Equal(t, http.StatusForbidden, status)
}

// K112.
func TestWebhooksAndPoliciesDecideAboutCommands(t *testing.T) {
	t.Parallel()
	d := openDoors(t, "-scheduler", "none")
	require.NoError(t, d.BootstrapNamespaces(t.Context()))
	front := httptest.NewServer(d.handler)
	defer front.Close()
	asked := withKubelet(t, func(wanted int, method, path, mediaType, body string) string {
		return d.sendAs(wanted, method, path, mediaType, body)
	})
	execute := func(command string) (status int, message string, warnings []string) {
		status, text, header := askWith(t, front.Client(), credentials{headers: []string{"Connection: Upgrade", "Upgrade: SPDY/3.1"}}, "POST", front.URL+todaysPods+"/web/exec?stdout=1&command="+command, "")
		if status > 101 {
			message = fromYAML[metav1.Status](t, text).Message
		}
		return status, message, header["Warning"]
	}
	sees := hook(t, func(asked *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
		assert.Equal(t, admissionv1.Connect, asked.Operation)
		assert.Equal(t, metav1.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}, asked.Kind)
		assert.Equal(t, []string{"pods", "exec", "default", "web"}, []string{asked.Resource.Resource, asked.SubResource, asked.Namespace, asked.Name})
		assert.Contains(t, string(asked.Object.Raw), `{"kind":"PodExecOptions","apiVersion":"v1","stdout":true,"command":["`)
		assert.NotContains(t, string(asked.Object.Raw), "metadata")
		assert.Empty(t, asked.OldObject.Raw)
		assert.Empty(t, asked.Options.Raw)
		if strings.Contains(string(asked.Object.Raw), "rm") {
			says.Allowed, says.Result = false, &metav1.Status{Message: "nothing is removed", Code: 403}
		}
		says.Warnings = []string{"it is seen"}
	})
	changes := hook(t, func(asked *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
		if strings.Contains(string(asked.Object.Raw), "swap") {
			patch(says, `[{"op":"replace","path":"/command","value":["ls"]}]`)
		}
	})
	d.send(http.StatusCreated, "POST", validating, asksAbout("/pods/exec", sees, ""))
	d.send(http.StatusCreated, "POST", mutating, asksAbout("/pods/exec", changes, ""))
	d.send(http.StatusCreated, "POST", registrations+"validatingadmissionpolicies", `{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[
		{"apiGroups":[""],"apiVersions":["v1"],"operations":["CONNECT"],"resources":["pods/exec"]}]},"validations":[{"expression":"object.command != ['dd'] || request.name != 'web'"}]}}`)
	d.send(http.StatusCreated, "POST", registrations+"validatingadmissionpolicybindings", `{"metadata":{"name":"p"},"spec":{"policyName":"p","validationActions":["Deny"]}}`)
	for command, message := range map[string]string{
		"ls":   "",
		"rm":   `admission webhook "hooks.example.com" denied the request: nothing is removed`,
		"dd":   `pods "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed expression: object.command != ['dd'] || request.name != 'web'`,
		"swap": `admission webhook "hooks.example.com" attempted to modify the object, which is not supported for this operation`,
	} {
		before := asked.Load()
		status, told, warnings := execute(command)
		assert.Contains(t, told, message, command)
		assert.Equal(t, message == "", status == http.StatusSwitchingProtocols, "%s: %d", command, status)
		assert.Equal(t, message == "", asked.Load() > before, command)
		if message == "" {
			assert.Equal(t, []string{`299 - "it is seen"`}, warnings)
		}
	}
	d.send(http.StatusOK, "DELETE", todaysPods+"/web?gracePeriodSeconds=0", "")
}
