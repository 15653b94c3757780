package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const roleAPI = "/apis/rbac.authorization.k8s.io/v1"

// grant gives a user rights by the insecure port: in the namespace default, or everywhere if
// there are paths among them.
func (s *secured) grant(name string, rules ...rbacv1.PolicyRule) {
	s.t.Helper()
	everywhere := len(rules[0].NonResourceURLs) > 0
	role := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	s.send(http.StatusCreated, "POST", roleAPI+"/clusterroles", encodeAll(s.t, role))
	binding := rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}}
	if everywhere {
		s.send(http.StatusCreated, "POST", roleAPI+"/clusterrolebindings", encodeAll(s.t, binding))
		return
	}
	s.send(http.StatusCreated, "POST", roleAPI+"/namespaces/default/rolebindings", encodeAll(s.t, binding))
}

func ruleOn(resource, verbs string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: strings.Fields(resource), Verbs: strings.Fields(verbs), ResourceNames: names}
}

// tokensOf has a token for each user: its name and "-token".
func tokensOf(users ...string) string {
	var lines strings.Builder
	for i, name := range users {
		fmt.Fprintf(&lines, "%s-token,%s,%d\n", name, name, i)
	}
	return lines.String()
}

// attempt is what a user tries, and, if it is not allowed, what the user "cannot".
type attempt struct{ user, method, path, cannot string }

const (
	inPods  = ` in API group "" in the namespace "default"`
	anyRoot = ` in API group "" at the cluster scope`
)

// allowed has what is the same at both doors: the tasks of the first are the pods of the second.
var allowedAtBothDoors = []attempt{
	{"reader", "GET", firstDoorsTasks, ""},
	{"reader", "GET", firstDoorsTasks + "/web", ""},
	{"reader", "GET", todaysPods, ""},
	{"reader", "GET", todaysPods + "/web", ""},
	{"reader", "GET", todaysPods + "?watch=1&resourceVersion=none", ""},
	{"reader", "GET", "/api/v1/watch/namespaces/default/pods?resourceVersion=none", ""},
	{"reader", "POST", firstDoorsTasks, `create resource "pods"` + inPods},
	{"reader", "PUT", firstDoorsTasks + "/web", `update resource "pods"` + inPods},
	{"reader", "DELETE", firstDoorsTasks + "/web", `delete resource "pods"` + inPods},
	{"reader", "DELETE", firstDoorsTasks, `deletecollection resource "pods"` + inPods},
	{"reader", "POST", todaysPods, `create resource "pods"` + inPods},
	{"reader", "PUT", todaysPods + "/web", `update resource "pods"` + inPods},
	{"reader", "PATCH", todaysPods + "/web", `patch resource "pods"` + inPods},
	{"reader", "DELETE", todaysPods + "/web", `delete resource "pods"` + inPods},
	{"reader", "DELETE", todaysPods, `deletecollection resource "pods"` + inPods},
	{"reader", "POST", todaysPods + "/web/binding", `create resource "pods/binding"` + inPods},
	{"reader", "GET", "/api/v1beta1/services", `list resource "services"` + inPods},
	{"reader", "GET", todaysServices, `list resource "services"` + inPods},
	{"reader", "GET", "/api/v1beta1/replicationControllers/c", `get resource "replicationcontrollers"` + inPods},
	{"reader", "GET", todaysControllers + "/c", `get resource "replicationcontrollers"` + inPods},
	{"reader", "GET", "/api/v1/namespaces/other/pods", `list resource "pods" in API group "" in the namespace "other"`},
	{"reader", "GET", "/api/v1/pods", `list resource "pods"` + anyRoot},
	{"reader", "GET", "/api/v1/nodes", `list resource "nodes"` + anyRoot},
	{"reader", "GET", "/", `get path "/"`},
	{"reader", "GET", "/index.html", `get path "/index.html"`},
	{"reader", "GET", "/unknown", `get path "/unknown"`},
	{"reader", "POST", "/api/v1beta1", `post path "/api/v1beta1"`},
	{"reader", "POST", "/api/v1beta1/operations", `post path "/api/v1beta1/operations"`},

	{"keeper", "POST", "/api/v1beta1/replicationControllers", ""},
	{"keeper", "PUT", "/api/v1beta1/replicationControllers/c", ""},
	{"keeper", "DELETE", "/api/v1beta1/replicationControllers/c", ""},
	{"keeper", "POST", todaysControllers, ""},
	{"keeper", "PATCH", todaysControllers + "/c", ""},
	{"keeper", "DELETE", todaysControllers + "/c", ""},
	{"keeper", "POST", "/api/v1beta1/services", `create resource "services"` + inPods},
	{"keeper", "POST", "/api/v1beta1/tasks", `create resource "pods"` + inPods},
}

// allowedByRoles has what only roles can say, and what the roles of each server say.
var allowedByRoles = []attempt{
	{"reader", "GET", "/healthz", ""}, {"reader", "GET", "/healthz?verbose", ""}, {"reader", "GET", "/readyz", ""}, {"reader", "GET", "/livez", ""},
	{"reader", "GET", "/version", ""}, {"reader", "GET", "/api", ""}, {"reader", "GET", "/api/v1beta1", ""}, {"reader", "GET", "/apis", ""}, {"reader", "GET", "/api/v1", ""}, {"reader", "GET", "/openapi/v3", ""},
	{"reader", "POST", reviewOfOneself, ""}, {"reader", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", ""},
	{"reader", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", `create resource "subjectaccessreviews" in API group "authorization.k8s.io" at the cluster scope`},
	{"reader", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", `create resource "tokenreviews" in API group "authentication.k8s.io" at the cluster scope`},
	{"reader", "GET", todaysPods + "/web/log", `get resource "pods/log"` + inPods},
	{"reader", "GET", todaysPods + "/web/status", `get resource "pods/status"` + inPods},
	{"reader", "GET", roleAPI + "/clusterroles", `list resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope`},
	{"reader", "GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", `list resource "endpointslices" in API group "discovery.k8s.io" in the namespace "default"`},

	{"logger", "GET", todaysPods + "/web/log", ""},
	{"logger", "GET", todaysPods + "/web", `get resource "pods"` + inPods},
	{"logger", "GET", firstDoorsTasks + "/web", `get resource "pods"` + inPods},

	{"webber", "GET", todaysPods + "/web", ""},
	{"webber", "GET", firstDoorsTasks + "/web", ""},
	{"webber", "DELETE", firstDoorsTasks + "/db", `delete resource "pods"` + inPods},
	{"webber", "GET", firstDoorsTasks, `list resource "pods"` + inPods},
	{"webber", "GET", todaysPods + "/db", `get resource "pods"` + inPods},
	{"webber", "GET", todaysPods, `list resource "pods"` + inPods},
	{"webber", "GET", todaysPods + "?fieldSelector=metadata.name%3Dweb", ""},
	{"webber", "GET", todaysPods + "?fieldSelector=spec.nodeName%3Da,metadata.name%3Dweb", ""},
	{"webber", "GET", todaysPods + "?watch=1&resourceVersion=none&fieldSelector=metadata.name%3Dweb", ""},
	{"webber", "GET", todaysPods + "?fieldSelector=metadata.name%3Ddb", `list resource "pods"` + inPods},
	{"webber", "GET", todaysPods + "?fieldSelector=metadata.name!%3Dweb", `list resource "pods"` + inPods},
	{"webber", "GET", todaysPods + "?watch=1&fieldSelector=metadata.name%3Ddb", `watch resource "pods"` + inPods},
	{"webber", "GET", firstDoorsTasks + "?fieldSelector=metadata.name%3Ddb", `list resource "pods"` + inPods},
	{"webber", "DELETE", todaysPods + "?fieldSelector=metadata.name%3Dweb", `deletecollection resource "pods"` + inPods},
	{"webber", "POST", todaysPods, `create resource "pods"` + inPods},

	{"insider", "GET", "/api/v1/namespaces/default", ""},
	{"insider", "GET", "/api/v1/namespaces/other", `get resource "namespaces" in API group "" in the namespace "other"`},
	{"insider", "GET", "/api/v1/namespaces", `list resource "namespaces"` + anyRoot},

	{"pather", "GET", "/", ""}, {"pather", "GET", "/unknown/far/below", ""}, {"pather", "GET", "/api/v1beta1", ""},
	{"pather", "POST", "/", `post path "/"`},
	{"pather", "GET", "/unknown", `get path "/unknown"`},
}

var secondDoors = regexp.MustCompile(`^/(api/v1/|apis/|version)`)

// tries sends what is attempted. Who is refused is told a reason, "" for none.
func (s *secured) tries(t *testing.T, reason string, all []attempt) {
	for _, a := range all {
		t.Run(a.user+" "+a.method+" "+a.path, func(t *testing.T) {
			t.Parallel()
			status, text := s.ask(t, bearer(a.user+"-token"), a.method, a.path, "{}")
			if a.cannot == "" {
				assert.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, status, text)
				return
			}
			assert.Equal(t, http.StatusForbidden, status)
			message, line := strings.CutPrefix(text, "Forbidden: ")
			if !line {
				var told metav1.Status
				require.NoError(t, json.Unmarshal([]byte(text), &told), text)
				_, message, _ = strings.Cut(told.Message, "forbidden: ")
			}
			assert.Equal(t, !secondDoors.MatchString(a.path), line, "it is told in the words of its door")
			assert.Equal(t, fmt.Sprintf("User %q cannot %s%s", a.user, a.cannot, reason), message)
		})
	}
}

func TestWhatIsAllowedIsTheSameAtBothDoors(t *testing.T) {
	t.Parallel()
	tokens := filesOf(t).write("tokens", tokensOf("reader", "keeper", "logger", "webber", "insider", "pather"))
	t.Run("by roles", func(t *testing.T) {
		t.Parallel()
		s := openSecure(t, "-authorization_mode", "RBAC", "-token_auth_file", tokens)
		s.grant("reader", ruleOn("pods", "get list watch"))
		s.grant("keeper", ruleOn("replicationcontrollers", "create update patch delete"))
		s.grant("logger", ruleOn("pods/log", "get"))
		s.grant("webber", ruleOn("pods", "get list watch update delete deletecollection", "web"))
		s.grant("insider", ruleOn("namespaces", "get list"))
		s.grant("pather", rbacv1.PolicyRule{NonResourceURLs: []string{"/", "/unknown/*", "/api/v1beta1"}, Verbs: []string{"get"}})
		s.tries(t, "", slices.Concat(allowedAtBothDoors, allowedByRoles))
	})
	t.Run("by a policy", func(t *testing.T) {
		t.Parallel()
		policy := filesOf(t).write("policy", `{"user":"reader","resource":"pods","namespace":"default","readonly":true}
{"user":"keeper","resource":"replicationcontrollers","namespace":"default"}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"pather","nonResourcePath":"/unknown/*","readonly":true}}
`)
		s := openSecure(t, "-authorization_mode", "ABAC", "-authorization_policy_file", policy, "-token_auth_file", tokens)
		s.tries(t, ": No policy matched.", append(slices.Clone(allowedAtBothDoors), attempt{"pather", "GET", "/unknown/far/below", ""}, attempt{"pather", "POST", "/unknown/far/below", `post path "/unknown/far/below"`},
			attempt{"reader", "GET", "/healthz", `get path "/healthz"`}, attempt{"reader", "GET", "/version", `get path "/version"`}))
	})
}

// However a path is written, it shows nothing to who may not see it.
func TestNoSpellingOfAPathGetsAroundThePolicy(t *testing.T) {
	t.Parallel()
	s := openSecure(t, "-authorization_mode", "RBAC", "-token_auth_file", filesOf(t).write("tokens", tokensOf("nobody", "server")))
	s.grant("server", ruleOn("services", "get list watch create update delete"))
	pod := podNamed("web")
	pod.Labels["hidden"] = "do-not-show"
	s.createPod(pod)
	for _, name := range []string{"nobody", "server"} {
		for _, method := range []string{"GET", "HEAD", "DELETE", "PUT", "PATCH", "OPTIONS", "PROPFIND"} {
			for _, path := range []string{"/api/v1beta1/tasks/", "/api/v1beta1//tasks", "//api/v1beta1/tasks", "/api/v1beta1/%74asks/web", "/api/v1beta1/tasks/%77eb", "/api/v1beta1/tasks/web/",
				"/api/v1beta1/tasks/web/x", "/api/v1beta1/TASKS/web", "/api/v1beta1/services/../tasks/web", "/api/v1beta1/services/%2e%2e/tasks/web", "/api/v1beta1/services%2f..%2ftasks/web",
				"/api/v1beta1/tasks;services", "/api/v1beta1/services/../../v1beta1/tasks", "/./api/v1beta1/tasks", "/healthz/../api/v1beta1/tasks", "/version/../api/v1/pods",
				"/api//v1/namespaces/default/pods", "/api/v1/namespaces/default/%70ods/web", todaysPods + "/", todaysPods + "/web/", todaysPods + "/./web", todaysServices + "/../pods/web",
				todaysServices + "/%2e%2e/pods/web", "/api/v1/namespaces//pods", "/api/v1/namespaces/default//pods", "/api/v1/watch/pods", "/api/v1/watch/namespaces/default/pods/web",
				"/api/v1/pods", "/api/v1/namespaces/default/services/namespaces/default/pods", "/api/v1/namespaces/default/namespaces/default/pods/web", "/readyz/../api/v1/pods",
				"/openapi/v3/../../api/v1/pods", "/apis//v1/pods", "/api/v1/proxy/namespaces/default/pods/web", todaysPods + "/web/status", todaysPods + "/web/log"} {
				status, text := s.ask(t, bearer(name+"-token"), method, path, "")
				assert.NotContains(t, text, "do-not-show", method+" "+path)
				assert.True(t, status >= 400 || status/100 == 3, "%s %s %s: %d %s", name, method, path, status, text)
			}
		}
	}
	assert.Equal(t, "do-not-show", s.pod("web").Labels["hidden"], "it is still there")
}

func TestWhoMayUpdateButNotCreateCreatesNothing(t *testing.T) {
	t.Parallel()
	s := openSecure(t, "-authorization_mode", "RBAC", "-token_auth_file", filesOf(t).write("tokens", tokensOf("changer", "creator")))
	s.grant("changer", ruleOn("services", "update patch"))
	const path, service = "/api/v1/namespaces/default/services/x", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"ports":[{"port":80}]}}`
	for _, row := range []struct {
		method, query, mediaType, body string
		status                         int
	}{
		{"PUT", "", "application/json", service, http.StatusForbidden},
		{"PATCH", "?fieldManager=m", "application/apply-patch+yaml", service, http.StatusForbidden},
		{"PATCH", "", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, http.StatusNotFound},
	} {
		status, text := s.ask(t, bearer("changer-token").as("Content-Type: "+row.mediaType), row.method, path+row.query, row.body)
		assert.Equal(t, row.status, status, text)
	}
	s.grant("creator", ruleOn("services", "patch create"))
	status, text := s.ask(t, bearer("creator-token").as("Content-Type: application/apply-patch+yaml"), "PATCH", path+"?fieldManager=m", service)
	assert.Equal(t, http.StatusCreated, status, text)
}
