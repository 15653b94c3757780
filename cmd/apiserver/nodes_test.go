package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authorizer/authorizertest"
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
