package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
)

// rbacServer is a program with roles, of which admin may do everything, and kate nothing.
type rbacServer struct {
	t         *testing.T
	url, home string
	kubectl   string
	authority *certtest.Pair
	client    *http.Client
}

// startRBAC starts a program for each list of flags. Those after the first are hurried: on etcd2
// only such a one follows what others change.
func startRBAC(t *testing.T, lists ...[]string) (servers []*rbacServer) {
	kubectl, f := kubectlPath(t), filesOf(t)
	own, authority := f.secureFlags()
	own = append(own, "-scheduler", "none", "-authorization_mode", "RBAC", "-token_auth_file", f.write("tokens", "admin-token,admin,1,system:masters\nkate-token,kate,2\n"))
	mode := unhurried
	for _, flags := range lists {
		_, log, _, url := secureProgram(t, mode, append(flags, own...)...)
		mode = hurried
		go log.end() // many requests are logged until something has happened
		s := &rbacServer{t, url, t.TempDir(), kubectl, authority, clientWith(t, authority.Pool(), nil)}
		for _, name := range []string{"admin", "kate"} {
			require.NoError(t, os.WriteFile(filepath.Join(s.home, name), []byte(kubeconfigFor(t, url, authority, name+"-token")), 0o600))
		}
		eventually(t, func() bool { return s.status("admin", "GET", "/readyz", "") == http.StatusOK }, "the default roles are there")
		servers = append(servers, s)
	}
	return servers
}

// run runs kubectl as a user: a line of arguments.
func (s *rbacServer) run(user, line string) (exit int, stdout, stderr string) {
	s.t.Helper()
	cmd := exec.CommandContext(unhurriedContext(s.t), s.kubectl, strings.Fields(line)...)
	cmd.Env = append(os.Environ(), "HOME="+s.home, "KUBECONFIG="+filepath.Join(s.home, user))
	var out, complaints strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); !errors.As(err, new(*exec.ExitError)) {
		require.NoError(s.t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), complaints.String()
}

// prints requires that kubectl prints a text, and exits with 0.
func (s *rbacServer) prints(user, line, want string) {
	s.t.Helper()
	exit, stdout, stderr := s.run(user, line)
	assert.Zero(s.t, exit, stderr)
	assert.Equal(s.t, want, inColumns(stdout+stderr), "%s: kubectl %s", user, line)
}

// refuses requires that kubectl prints a text, and exits with 1.
func (s *rbacServer) refuses(user, line, want string) {
	s.t.Helper()
	exit, stdout, stderr := s.run(user, line)
	assert.Equal(s.t, 1, exit)
	assert.Equal(s.t, want, inColumns(stdout+stderr), "%s: kubectl %s", user, line)
}

// inColumns puts one blank between the columns of each line.
func inColumns(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// status sends a request as a user.
func (s *rbacServer) status(user, method, path, body string) int {
	s.t.Helper()
	status, _, _ := askWith(s.t, s.client, bearer(user+"-token"), method, s.url+path, body)
	return status
}

const (
	katesBinding = `{"metadata":{"name":"reader"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"kate"}]}`
	bindings     = roleAPI + "/namespaces/default/rolebindings"
	notFromPods  = `Error from server (Forbidden): pods is forbidden: User "kate" cannot list resource "pods" in API group "" in the namespace "default"`
)

func TestKubectlGivesRightsAndTakesThemAway(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			s := startRBAC(t, flags(t))[0]
			s.prints("kate", "auth whoami", "ATTRIBUTE VALUE\nUsername kate\nUID 2\nGroups [system:authenticated]")
			s.refuses("kate", "get pods", notFromPods)
			s.refuses("kate", "auth can-i list pods", "no")
			s.prints("admin", "create role reader --verb=get,list,watch --resource=pods", "role.rbac.authorization.k8s.io/reader created")
			s.prints("admin", "create rolebinding reader --role=reader --user=kate", "rolebinding.rbac.authorization.k8s.io/reader created")
			s.prints("kate", "get pods", "No resources found in default namespace.")
			s.prints("kate", "auth can-i list pods", "yes")
			s.refuses("kate", "auth can-i list services", "no")
			_, list, _ := s.run("kate", "auth can-i --list")
			assert.Contains(t, inColumns(list), "\npods [] [] [get list watch]")
			assert.Contains(t, inColumns(list), "\nselfsubjectaccessreviews.authorization.k8s.io [] [] [create]")
			s.prints("admin", "auth can-i delete clusterroles", "yes\nWarning: resource 'clusterroles' is not namespace scoped in group 'rbac.authorization.k8s.io'\n")

			s.prints("admin", "get pods --as=kate", "No resources found in default namespace.")
			s.refuses("admin", "auth can-i delete pods --as=kate", "no")
			s.prints("admin", "auth whoami --as=lily --as-group=x", "ATTRIBUTE VALUE\nUsername lily\nGroups [x system:authenticated]")
			s.refuses("kate", "get pods --as=admin", `Error from server (Forbidden): users "admin" is forbidden: User "kate" cannot impersonate resource "users" in API group "" at the cluster scope`)

			s.prints("admin", "create clusterrole roler --verb=create,update,delete --resource=roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io", "clusterrole.rbac.authorization.k8s.io/roler created")
			s.prints("admin", "create rolebinding roler --clusterrole=roler --user=kate", "rolebinding.rbac.authorization.k8s.io/roler created")
			s.prints("kate", "create role second --verb=list --resource=pods", "role.rbac.authorization.k8s.io/second created")
			s.refuses("kate", "create role deleter --verb=delete --resource=pods", `Error from server (Forbidden): roles.rbac.authorization.k8s.io "deleter" is forbidden: user "kate" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}`)
			exit, _, stderr := s.run("kate", "create rolebinding all --clusterrole=cluster-admin --user=kate")
			assert.Equal(t, 1, exit)
			assert.Contains(t, stderr, `rolebindings.rbac.authorization.k8s.io "all" is forbidden: user "kate" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:`)
			s.prints("kate", "create rolebinding second --role=second --user=lily", "rolebinding.rbac.authorization.k8s.io/second created")

			s.prints("admin", "delete rolebinding reader", `rolebinding.rbac.authorization.k8s.io "reader" deleted from default namespace`)
			s.refuses("kate", "get pods", notFromPods)

			s.prints("admin", "create rolebinding viewer --clusterrole=view --user=kate", "rolebinding.rbac.authorization.k8s.io/viewer created")
			eventually(t, func() bool { return s.status("kate", "GET", todaysPods, "") == http.StatusOK }, "view has the rules that it selects")
			s.refuses("kate", "auth can-i delete pods", "no")
		})
	}
}

func TestARightHoldsAtOnceAndIsLostAtOnceAtBothDoors(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			store := flags(t)
			lists := [][]string{store, store}
			if name == "memory" {
				lists = lists[:1]
			}
			servers := startRBAC(t, lists...)
			first, last := servers[0], servers[len(servers)-1]
			require.Equal(t, http.StatusCreated, first.status("admin", "POST", roleAPI+"/namespaces/default/roles",
				`{"metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}]}`))
			require.Equal(t, http.StatusForbidden, first.status("kate", "GET", todaysPods, ""))
			for round := range 5 {
				require.Equal(t, http.StatusCreated, first.status("admin", "POST", bindings, katesBinding))
				assert.Equal(t, http.StatusOK, first.status("kate", "GET", todaysPods, ""), round)
				assert.Equal(t, http.StatusOK, first.status("kate", "GET", firstDoorsTasks, ""), round)
				eventually(t, func() bool { return last.status("kate", "GET", todaysPods, "") == http.StatusOK }, "the other server knows")
				require.Equal(t, http.StatusOK, first.status("admin", "DELETE", bindings+"/reader", ""))
				assert.Equal(t, http.StatusForbidden, first.status("kate", "GET", todaysPods, ""), round)
				assert.Equal(t, http.StatusForbidden, first.status("kate", "GET", firstDoorsTasks, ""), round)
				eventually(t, func() bool { return last.status("kate", "GET", todaysPods, "") == http.StatusForbidden }, "the other server knows")
			}
		})
	}
}

// Many users get and lose rights beside each other: nobody has those of another.
func TestRightsThatManyGetBesideEachOtherAreNotMixedUp(t *testing.T) {
	t.Parallel()
	s := openSecure(t, "-authorization_mode", "RBAC", "-token_auth_file", filesOf(t).write("tokens", tokensOf("u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7")))
	for i := range 8 {
		name := fmt.Sprint("u", i)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource := []string{"pods", "services"}[i%2]
			other := []string{"services", "pods"}[i%2]
			at := func(resource string) string { return "/api/v1/namespaces/default/" + resource }
			s.grant(name, ruleOn(resource, "list"))
			for range 20 {
				status, _ := s.ask(t, bearer(name+"-token"), "GET", at(resource), "")
				assert.Equal(t, http.StatusOK, status)
				status, _ = s.ask(t, bearer(name+"-token"), "GET", at(other), "")
				assert.Equal(t, http.StatusForbidden, status)
			}
			s.send(http.StatusOK, "DELETE", bindings+"/"+name, "")
			status, _ := s.ask(t, bearer(name+"-token"), "GET", at(resource), "")
			assert.Equal(t, http.StatusForbidden, status)
		})
	}
}
