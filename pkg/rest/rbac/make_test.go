package rbac

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/storage/memory"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

const (
	groupPath               = "/apis/rbac.authorization.k8s.io/v1"
	rolesPath               = groupPath + "/namespaces/default/roles"
	roleBindingsPath        = groupPath + "/namespaces/default/rolebindings"
	clusterRolesPath        = groupPath + "/clusterroles"
	clusterRoleBindingsPath = groupPath + "/clusterrolebindings"
)

// clock is that of the tests.
func clock() time.Time { return time.Date(2026, 6, 6, 12, 0, 0, 0, time.UTC) }

// users are those that were there when the answers were recorded.
var users = map[string]*user.Info{
	"admin": {Name: "admin", Groups: []string{user.Masters, user.AllAuthenticated}},
	"bob":   {Name: "bob", Groups: []string{"devs", user.AllAuthenticated}},
}

// onEachStore runs a test on each kind of store. Connect returns what another process has.
func onEachStore(t *testing.T, test func(t *testing.T, connect func() storage.Interface)) {
	t.Parallel()
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		store := memory.New(1000)
		test(t, func() storage.Interface { return store })
	})
	t.Run("on etcd v2", func(t *testing.T) {
		t.Parallel()
		client := etcdtest.Shared(t, etcd.New)
		test(t, func() storage.Interface {
			store := etcd2.New(client, nil)
			store.SetClock(clock, func(time.Duration) <-chan time.Time { return nil }) // it has all the time that a slow machine takes
			ctx, end := context.WithCancel(context.Background())
			followed := make(chan struct{})
			go func() {
				defer close(followed)
				store.Follow(ctx)
			}()
			t.Cleanup(func() { end(); <-followed })
			return store
		})
	})
	t.Run("on etcd v3", func(t *testing.T) {
		t.Parallel()
		client, prefix := etcdtest.SharedV3(t, func(servers []string) (*etcd.V3, error) { return etcd.NewV3(etcd.Config{Servers: servers}) })
		client.SetTimeout(5 * time.Minute)
		test(t, func() storage.Interface {
			store := etcd3.New(client, prefix)
			store.SetTimeout(5 * time.Minute)
			t.Cleanup(store.Close)
			return store
		})
	})
}

// door is a second door that knows who asks.
type door struct {
	*endpoints.Server
	t testing.TB
}

func open(t testing.TB, store storage.Interface, check *Escalation) door {
	return door{endpointstest.NewServer(clock, Resources(core.NewLifecycle(store, nil), clock, check)...), t}
}

// do sends a request: a body of JSON, and headers, which are names and values by turns.
func (d door) do(who, method, path, body string, headers ...string) (status int, answer string) {
	d.t.Helper()
	req := httptest.NewRequestWithContext(endpointstest.WithUser(d.t.Context(), users[who]), method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	endpointstest.Handler(d).ServeHTTP(recorder, req)
	text, err := io.ReadAll(recorder.Result().Body)
	require.NoError(d.t, err)
	return recorder.Code, string(text)
}

// must is do for a request that has to succeed. It decodes the answer.
func must[T any](d door, method, path, body string, headers ...string) (answer T) {
	d.t.Helper()
	status, text := d.do("admin", method, path, body, headers...)
	require.Less(d.t, status, 300, text)
	require.NoError(d.t, json.Unmarshal([]byte(text), &answer), text)
	return answer
}

// recorded is a request, and what kube-apiserver 1.36.3 answered to it.
type recorded struct {
	Note, Who, Method, Path, Type, Accept string
	Body, Answer                          json.RawMessage
	Status                                int
}

func recordedIn(t *testing.T, file string) (all []recorded) {
	text, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}

// send sends a recorded request, and returns the answer without what differs each time.
func (d door) send(r recorded) (status int, answer string) {
	path, err := url.Parse(r.Path)
	require.NoError(d.t, err)
	status, answer = d.do(r.Who, r.Method, path.String(), string(r.Body), "Content-Type", cmp.Or(r.Type, "application/json"), "Accept", cmp.Or(r.Accept, "application/json"))
	return status, constant(d.t, []byte(answer))
}

// constant returns indented JSON without uids, versions, times and managed fields.
func constant(t testing.TB, text []byte) string {
	var decoded any
	require.NoError(t, json.Unmarshal(text, &decoded), "%s", text)
	var indented bytes.Buffer
	encoder := json.NewEncoder(&indented)
	encoder.SetIndent("", " ")
	require.NoError(t, encoder.Encode(withoutVariables("", decoded)))
	return indented.String()
}

func withoutVariables(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "managedFields")
		for key := range value {
			value[key] = withoutVariables(key, value[key])
		}
	case []any:
		for i := range value {
			value[i] = withoutVariables(name, value[i])
		}
	case string:
		_, noTime := time.Parse(time.RFC3339, value)
		_, noAge := time.ParseDuration(value)
		if noTime == nil || noAge == nil || name == "uid" || name == "resourceVersion" {
			return "..."
		}
	}
	return value
}

func rule(verbs, groups, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Split(verbs, ","), APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ",")}
}
