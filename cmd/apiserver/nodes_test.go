package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube2014/pkg/auth/authorizer/authorizertest"
	"kube2014/pkg/util/loopback/loopbacktest"
)

// nodeFlags let nodes do what they may.
var nodeFlags = []string{"-authorization_mode", "Node,RBAC", "-enable_admission_plugins", "NodeRestriction"}

// The recorded server had neither the plugin NamespaceLifecycle nor nodes of machines.
func TestANodeMayDoWhatItMayOnTodaysServer(t *testing.T) {
	t.Parallel()
	recorded := authorizertest.Load(t, "../../pkg/auth/authorizer/node/testdata/decisions.json").Exchanges
	f := filesOf(t)
	flags, authority := f.secureFlags()
	flags = slices.Concat(flags, nodeFlags, f.signingFlags(), []string{"-scheduler", "none", "-disable_admission_plugins", "ServiceAccount,NamespaceLifecycle",
		"-token_auth_file", f.write("tokens", "admin-token,admin,1,system:masters\n")})
	_, _, _, url := secureProgram(t, unhurried, flags...)
	client := clientWith(t, authority.Pool(), nil)
	again := authorizertest.Recording{Exchanges: slices.Clone(recorded)}
	require.NoError(t, again.Exchange(func(who *authorizertest.Who, method, path string, body []byte) (int, []byte, error) {
		headers := []string{"Content-Type: application/json"}
		if method == "PATCH" {
			headers[0] = "Content-Type: " + mergePatch
		}
		if who != nil {
			headers = append(headers, "Impersonate-User: "+who.User)
			for _, group := range who.Groups {
				headers = append(headers, "Impersonate-Group: "+group)
			}
		}
		status, text, _ := askWith(t, client, bearer("admin-token").as(headers...), method, url+path, string(body))
		return status, []byte(text), nil
	}))
	for i, want := range recorded {
		got := again.Exchanges[i]
		assert.Equal(t, fmt.Sprint(want.Code, " ", want.Message), fmt.Sprint(got.Code, " ", got.Message), "%s: %s %s %s", want.User, want.Method, want.URL, want.Body)
	}
}

// At the first door a node is bounded as at the second: it may neither create a task, nor delete one that runs elsewhere.
func TestANodeIsBoundedAtTheFirstDoorToo(t *testing.T) {
	t.Parallel()
	s := openSecure(t, slices.Concat(nodeFlags, []string{"-machines", "m1,m2", "-token_auth_file", filesOf(t).write("tokens", "admin,admin,1,system:masters\nm1,system:node:m1,2,system:nodes\n")})...)
	for _, host := range []string{"m1", "m2"} {
		status, text := s.ask(t, bearer("admin"), "POST", "/api/v1beta1/tasks", `{"id":"on-`+host+`","desiredState":{"manifest":{"version":"v1beta1","id":"x","containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"hostPort":80}]}]}}}`)
		require.Equal(t, 200, status, text)
	}
	hosts := map[string]string{}
	for _, name := range []string{"on-m1", "on-m2"} { // each needs a machine of its own
		_, text := s.ask(t, bearer("admin"), "GET", "/api/v1beta1/tasks/"+name, "")
		var task struct{ CurrentState struct{ Host string } }
		require.NoError(t, json.Unmarshal([]byte(text), &task))
		hosts[task.CurrentState.Host] = name
	}
	require.Len(t, hosts, 2)
	own, other := hosts["m1"], hosts["m2"]
	for _, row := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "tasks", "", 403, `Forbidden: User "system:node:m1" cannot list resource "pods" in API group "" in the namespace "default": can only list/watch pods with spec.nodeName field selector`},
		{"GET", "tasks?labels=a%3Db&fieldSelector=spec.nodeName%3Dm1", "", 403, "Forbidden: "},
		{"GET", "tasks/" + own, "", 200, `"id":`},
		{"GET", "tasks/" + other, "", 403, "no relationship found between node 'm1' and this object"},
		{"POST", "tasks", `{"id":"new","desiredState":{"manifest":{"version":"v1beta1","id":"x"}}}`, 403, `pod does not have "kubernetes.io/config.mirror" annotation, node "m1" can only create mirror pods`},
		{"PUT", "tasks/" + own, `{"id":"x"}`, 403, "Forbidden: "},
		{"DELETE", "tasks/" + other, "", 403, `node "m1" can only delete pods with spec.nodeName set to itself`},
		{"DELETE", "tasks/" + own, "", 200, ""},
		{"GET", "services", "", 200, ""},
		{"POST", "services", `{"id":"s","port":80}`, 403, "Forbidden: "},
	} {
		status, text := s.ask(t, bearer("m1"), row.method, "/api/v1beta1/"+row.path, row.body)
		assert.Equal(t, row.status, status, "%s %s: %s", row.method, row.path, text)
		assert.Contains(t, text, row.says, "%s %s", row.method, row.path)
	}
}

// Our kubelet, with no other rights than those of its node, runs a pod with a secret and a config map, and is refused nothing.
func TestAKubeletRunsPodsWithTheRightsOfItsNode(t *testing.T) {
	t.Parallel()
	f := filesOf(t)
	flags, authority := f.secureFlags()
	block := loopbacktest.Claim(t)
	machine, audit := block.Machines[0], f.path("audit")
	_, _, address, url := secureProgram(t, unhurried, slices.Concat(flags, nodeFlags, f.signingFlags(), []string{"-scheduler", "none", "-machines", machine, "-audit_log_path", audit,
		"-token_auth_file", f.write("tokens", "node-token,system:node:"+machine+",1,system:nodes\n")})...)
	kubelet, _ := bareProgram(t, unhurried, "-run", "kubelet", "-machines", machine, "-kubelet_port", "0", "-cluster_cidr", block.Pods, "-kubeconfig", f.write("kubeconfig", kubeconfigFor(t, url, authority, "node-token")))
	e := extended{t, address}
	e.send(201, "POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"}}`)
	e.send(201, "POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"c"}}`)
	e.send(201, "POST", todaysPods, `{"metadata":{"name":"p"},"spec":{"nodeName":"`+machine+`","containers":[{"name":"c","image":"nginx","envFrom":[{"secretRef":{"name":"s"}},{"configMapRef":{"name":"c"}}]}]}}`)
	eventually(t, func() bool {
		phase, _, _ := unstructured.NestedString(e.object(todaysPods+"/p").Object, "status", "phase")
		return phase == "Running"
	}, "the pod runs")
	e.send(200, "DELETE", todaysPods+"/p", "")
	eventually(t, func() bool {
		status, _ := e.do("GET", todaysPods+"/p", "", "")
		return status == 404
	}, "the pod is gone")
	require.NoError(t, kubelet.Process.Kill())
	text, err := os.ReadFile(audit)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"user":{"username":"system:node:`+machine)
	for line := range strings.Lines(string(text)) {
		// The graph may be a moment behind the pod: the kubelet asks again.
		assert.False(t, strings.Contains(line, `"code":403`) && !strings.Contains(line, `"resource":"secrets"`) && !strings.Contains(line, `"resource":"configmaps"`), line)
	}
}
