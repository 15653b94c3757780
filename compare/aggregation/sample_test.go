package aggregation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/compare/serverstest"
)

const (
	flunder  = `{"apiVersion": "wardle.example.com/v1alpha1", "kind": "Flunder", "metadata": {"name": %q}, "spec": {"reference": %q}}`
	mayNot   = `flunders.wardle.example.com is forbidden: User "alice" cannot list resource "flunders" in API group "wardle.example.com" in the namespace "default"`
	mayRead  = `{"metadata": {"name": "reader"}, "rules": [{"apiGroups": ["wardle.example.com"], "resources": ["flunders"], "verbs": ["get", "list"]}]}`
	isReader = `{"metadata": {"name": "reader"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
		"subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}]}`
)

func TestTodaysSampleServerIsUsedThroughOurs(t *testing.T) {
	onlyIfAsked(t)
	f := newFleet(t, 1, "--run", "apiserver,controller_manager")
	f.addSample(t)
	s := f.ours[0]
	t.Run("its objects are changed and watched", func(t *testing.T) { objectsAreChangedAndWatched(t, s) })
	t.Run("RBAC decides who may do what", func(t *testing.T) { rbacDecides(t, f) })
	t.Run("kubectl knows its kinds", func(t *testing.T) { kubectlKnowsItsKinds(t, s) })
	t.Run("its admission refuses objects", func(t *testing.T) {
		s.create(t, atWardle+"/fischers", `{"metadata": {"name": "f"}, "disallowedFlunders": ["bad"]}`)
		serverstest.Eventually(t, "the sample server knows its fischer", func() bool {
			got := s.Do(t, serverstest.Request{Method: http.MethodPost, Path: atFlunders + "?dryRun=All", Body: fmt.Appendf(nil, flunder, "bad", "")})
			return got.Status == http.StatusForbidden && message(t, got) == `flunders.wardle.example.com "bad" is forbidden: this name may not be used, please change the resource name`
		})
	})
	t.Run("a namespace ends with its objects in it", func(t *testing.T) {
		s.create(t, "/api/v1/namespaces", `{"metadata": {"name": "brief"}}`)
		s.create(t, atWardle+"/namespaces/brief/flunders", fmt.Sprintf(flunder, "last", ""))
		s.kubectl(t, "delete", "namespace", "brief", "--timeout", "2m")
		assert.Empty(t, names(t, s.Server, atWardle+"/namespaces/brief/flunders"))
	})
}

func objectsAreChangedAndWatched(t *testing.T, s *server) {
	var events []string
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		begin := sync.OnceFunc(func() { close(begun) })
		ended <- watch(t.Context(), s.Server, atFlunders+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", func(e event) bool {
			if e.Type == "BOOKMARK" {
				begin()
			} else {
				events = append(events, e.Type+" "+e.Object.Metadata.Name)
			}
			return e.Type != "DELETED"
		})
	}()
	select {
	case <-begun:
	case err := <-ended:
		require.NoError(t, err, "the watch has ended")
	}
	s.create(t, atFlunders, fmt.Sprintf(flunder, "one", "two"))
	got := s.Do(t, serverstest.Request{Method: http.MethodPatch, Path: atFlunders + "/one", ContentType: "application/merge-patch+json", Body: []byte(`{"spec": {"reference": "three"}}`)})
	require.Equal(t, http.StatusOK, got.Status, "%s", got.Body)
	manifest := filepath.Join(t.TempDir(), "flunder.json")
	require.NoError(t, os.WriteFile(manifest, fmt.Appendf(nil, flunder, "one", "four"), 0o600))
	for _, args := range [][]string{{"apply", "-f", manifest, "--server-side", "--force-conflicts"}, {"get", "flunder", "one", "-o", "jsonpath={.spec}"}, {"delete", "flunder", "one"}} {
		printed := s.kubectl(t, args...)
		if args[0] == "get" {
			assert.JSONEq(t, `{"reference": "four", "referenceType": "Flunder"}`, printed)
		}
	}
	assert.False(t, s.Finds(atFlunders+"/one"))
	require.NoError(t, <-ended)
	assert.Equal(t, []string{"ADDED one", "MODIFIED one", "MODIFIED one", "DELETED one"}, events)
}

// rbacDecides asks through ours, and the sample server itself: ours tells it who a token belongs to, and what that user may do.
func rbacDecides(t *testing.T, f *fleet) {
	alice, direct := f.ours[0].as("alice"), f.sample.as("alice")
	list := serverstest.Request{Method: http.MethodGet, Path: atFlunders}
	for _, s := range []*serverstest.Server{alice, direct} {
		got := s.Do(t, list)
		assert.Equal(t, http.StatusForbidden, got.Status, "%s", got.Body)
		assert.Equal(t, mayNot, message(t, got), s.Name)
	}
	const at = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
	f.ours[0].create(t, at+"roles", mayRead)
	f.ours[0].create(t, at+"rolebindings", isReader)
	for _, s := range []*serverstest.Server{alice, direct} {
		serverstest.Eventually(t, "alice may list at "+s.Name, func() bool { return s.Finds(atFlunders) })
		got := s.Do(t, serverstest.Request{Method: http.MethodPost, Path: atFlunders, Body: fmt.Appendf(nil, flunder, "x", "")})
		assert.Equal(t, http.StatusForbidden, got.Status, "%s", got.Body)
		assert.Contains(t, message(t, got), `User "alice" cannot create resource "flunders"`, s.Name)
	}
	stranger := f.ours[0].as("nobody's")
	assert.Equal(t, http.StatusUnauthorized, stranger.Do(t, list).Status)
}

func kubectlKnowsItsKinds(t *testing.T, s *server) {
	assert.Equal(t, [][]string{{"fischers", "wardle.example.com/v1alpha1", "false", "Fischer"}, {"flunders", "wardle.example.com/v1alpha1", "true", "Flunder"}},
		fields(s.kubectl(t, "api-resources", "--api-group", "wardle.example.com", "--no-headers")))
	assert.Contains(t, s.kubectl(t, "explain", "flunder.spec.reference"), "A name of another flunder or fischer, depending on the reference type.")

	serverstest.Eventually(t, "/openapi/v2 has the paths of the sample server", func() bool {
		var described struct{ Paths map[string]any }
		require.NoError(t, json.Unmarshal(s.Do(t, serverstest.Request{Method: http.MethodGet, Path: "/openapi/v2"}).Body, &described))
		return described.Paths[atWardle+"/namespaces/{namespace}/flunders/{name}"] != nil && described.Paths["/api/v1/pods"] != nil
	})
	condition := conditionOf(t, s)
	assert.Equal(t, []string{"True", "Passed", "all checks passed"}, []string{condition.Status, condition.Reason, condition.Message})
}

// condition is that of the APIService of the sample server.
type condition struct{ Status, Reason, Message, LastTransitionTime string }

func conditionOf(t *testing.T, s *server) condition {
	got := s.Do(t, serverstest.Request{Method: http.MethodGet, Path: serviceOf})
	var service struct {
		Status struct{ Conditions []condition }
	}
	require.NoError(t, json.Unmarshal(got.Body, &service), "%s", got.Body)
	require.Len(t, service.Status.Conditions, 1)
	return service.Status.Conditions[0]
}

// message returns what a Status says.
func message(t *testing.T, a serverstest.Answer) string {
	var status struct{ Message string }
	require.NoError(t, json.Unmarshal(a.Body, &status), "%s", a.Body)
	return status.Message
}

// names returns the names of the objects in a list.
func names(t *testing.T, s *serverstest.Server, path string) map[string]bool {
	got := s.Do(t, serverstest.Request{Method: http.MethodGet, Path: path})
	require.Equal(t, http.StatusOK, got.Status, "%s", got.Body)
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal(got.Body, &list))
	found := map[string]bool{}
	for _, item := range list.Items {
		found[item.Metadata.Name] = true
	}
	return found
}
