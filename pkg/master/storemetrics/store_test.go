package storemetrics

import (
	"context"
	"errors"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"kube2014/pkg/api"
	"kube2014/pkg/metrics"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/storage/memory"
)

var counted = regexp.MustCompile(`(?m)^etcd_(requests|request_errors)_total\{group="(.*)",operation="(.*)",resource="(.*)"\} (\d+)$`)

// calls returns the calls that were counted: "OPERATION RESOURCE[.GROUP] NUMBER", failures with
// an exclamation mark.
func calls(m *metrics.Metrics) (all []string) {
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	for _, found := range counted.FindAllStringSubmatch(recorder.Body.String(), -1) {
		resource := strings.TrimSuffix(found[4]+"."+found[2], ".")
		line := found[3] + " " + resource + " " + found[5]
		if found[1] == "request_errors" {
			line = "!" + line
		}
		all = append(all, line)
	}
	return all
}

// v2 is an etcd that answers as it is told.
type v2 struct{ err error }

func (c v2) AddChild(string, string, uint64) (*etcd.Response, error) { return nil, c.err }
func (c v2) Get(string, bool, bool) (*etcd.Response, error)          { return nil, c.err }
func (c v2) Set(string, string, uint64) (*etcd.Response, error)      { return nil, c.err }
func (c v2) Create(string, string, uint64) (*etcd.Response, error)   { return nil, c.err }
func (c v2) Delete(string, bool) (*etcd.Response, error)             { return nil, c.err }
func (c v2) CompareAndSwap(string, string, uint64, string, uint64) (*etcd.Response, error) {
	return nil, c.err
}
func (c v2) CompareAndDelete(string, string, uint64) (*etcd.Response, error) { return nil, c.err }
func (c v2) Watch(string, uint64, bool, chan *etcd.Response, chan bool) (*etcd.Response, error) {
	return nil, c.err
}

// observer returns an observer that has a catalog.
func observer(m *metrics.Metrics) Observer {
	catalog := &rest.Catalog{}
	for stored, resource := range map[api.Kind]schema.GroupResource{
		api.TaskKind: {Resource: "pods"}, api.ControllerKind: {Resource: "replicationcontrollers"}, api.ServiceKind: {Resource: "services"},
		api.EndpointsKind: {Resource: "endpoints"}, api.NodeKind: {Resource: "nodes"}, "events": {Resource: "events"},
		"roles": {Group: "rbac.authorization.k8s.io", Resource: "roles"}, "": {Resource: "namespaces"},
	} {
		catalog.Install(rest.Resource{GroupVersion: schema.GroupVersion{Group: resource.Group, Version: "v1"}, Name: resource.Resource, StoredKind: stored})
	}
	return Observer{m, rest.Catalogs{catalog}}
}

func TestCallsOfTheV2APIAreCountedByWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	m := metrics.New(version.Info{})
	client := observer(m).Etcd2(v2{})
	_, _ = client.AddChild("/registry/events", "", 0)
	_, _ = client.Get("/registry/hosts/a/tasks/b", false, false)
	_, _ = client.Get("/registry/hosts/a/kubelet", false, false)
	_, _ = client.Get("/registry/pods", true, true)
	_, _ = client.Get("/registry", true, true)
	_, _ = client.Set("/registry/services/endpoints/a", "", 0)
	_, _ = client.Create("/registry/_tasks/a", "", 0)
	_, _ = client.Delete("/registry/roles/default/a", true)
	_, _ = client.CompareAndSwap("/registry/services/specs/a", "", 0, "", 1)
	_, _ = client.CompareAndDelete("/registry/controllers/a", "", 1)
	_, _ = client.Get("/elsewhere/pods/a", false, false)
	_, _ = client.Watch("/registry", 1, true, nil, nil)
	assert.ElementsMatch(t, []string{"create events 1", "get pods 2", "list pods 1", "list  1", "update endpoints 1", "create pods 1",
		"delete roles.rbac.authorization.k8s.io 1", "update services 1", "delete replicationcontrollers 1", "get  1"}, calls(m), "a watch is no call")
}

func TestAnAnswerOfTheV2APIThatSomethingIsNotThereIsNoError(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		err  error
		want []string
	}{
		"not there":    {&etcd.EtcdError{ErrorCode: 100}, []string{"get nodes 1"}},
		"changed":      {&etcd.EtcdError{ErrorCode: 101}, []string{"get nodes 1"}},
		"bad form":     {&etcd.EtcdError{ErrorCode: 210}, []string{"!get nodes 1", "get nodes 1"}},
		"no leader":    {&etcd.EtcdError{ErrorCode: 300}, []string{"!get nodes 1", "get nodes 1"}},
		"no answer":    {errors.New("connection refused"), []string{"!get nodes 1", "get nodes 1"}},
		"all is well":  {nil, []string{"get nodes 1"}},
		"out of space": {&etcd.EtcdError{ErrorCode: 500}, []string{"!get nodes 1", "get nodes 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := metrics.New(version.Info{})
			_, err := observer(m).Etcd2(v2{row.err}).Get("/registry/minions/a", false, false)
			assert.Equal(t, row.err, err)
			assert.ElementsMatch(t, row.want, calls(m))
		})
	}
}

// v3 is an etcd that answers as it is told.
type v3 struct {
	etcd3.Client
	err error
}

func (c v3) Do(context.Context, clientv3.Op) (clientv3.OpResponse, error) {
	return clientv3.OpResponse{}, c.err
}

func TestCallsOfTheV3APIAreCountedByWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	txn := func(conditions []clientv3.Cmp, ops ...clientv3.Op) clientv3.Op {
		return clientv3.OpTxn(conditions, ops, nil)
	}
	is := func(key string, revision int64) clientv3.Cmp {
		return clientv3.Compare(clientv3.ModRevision(key), "=", revision)
	}
	for name, row := range map[string]struct {
		op   clientv3.Op
		want string
	}{
		"the revision":                  {clientv3.OpGet("/x/", clientv3.WithCountOnly()), "get  1"},
		"all":                           {clientv3.OpGet("/x/", clientv3.WithPrefix()), "list  1"},
		"all pods":                      {clientv3.OpGet("/x/pods/", clientv3.WithPrefix()), "list pods 1"},
		"a pod":                         {clientv3.OpGet("/x/pods/a"), "get pods 1"},
		"a delete":                      {clientv3.OpDelete("/x/hostports/a/80"), "delete pods 1"},
		"a write":                       {clientv3.OpPut("/x/minions/a", ""), "update nodes 1"},
		"another prefix":                {clientv3.OpGet("/registry/pods/a"), "get  1"},
		"a new pod with a host port":    {txn([]clientv3.Cmp{is("/x/pods/a", 0)}, clientv3.OpPut("/x/hostports/a/80", "a"), clientv3.OpPut("/x/pods/a", "")), "create pods 1"},
		"a pod that gets a host port":   {txn([]clientv3.Cmp{is("/x/hostports/a/80", 0), is("/x/pods/a", 7)}, clientv3.OpPut("/x/pods/a", ""), clientv3.OpPut("/x/hostports/a/80", "a")), "update pods 1"},
		"a write that minds nothing":    {txn(nil, clientv3.OpPut("/x/services/specs/a", "")), "update services 1"},
		"a delete of a service":         {txn([]clientv3.Cmp{is("/x/services/specs/a", 7)}, clientv3.OpDelete("/x/services/specs/a"), clientv3.OpDelete("/x/services/endpoints/a")), "delete services 1"},
		"a check":                       {txn([]clientv3.Cmp{is("/x/pods/a", 7)}), "get  1"},
		"a condition of another object": {txn([]clientv3.Cmp{is("/x/services/specs/a", 0)}, clientv3.OpPut("/x/services/endpoints/a", "")), "update endpoints 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, err := range []error{nil, errors.New("no leader")} {
				m := metrics.New(version.Info{})
				_, got := observer(m).Etcd3(v3{err: err}, "/x").Do(t.Context(), row.op)
				assert.Equal(t, err, got)
				want := []string{row.want}
				if err != nil {
					want = []string{"!" + row.want, row.want}
				}
				assert.ElementsMatch(t, want, calls(m))
			}
		})
	}
}

func TestTheCacheTellsHowManyObjectsItHasAndItsVersion(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	_, err := store.Commit(storage.Create(&api.Any{Kind: api.NodeKind, ID: "a"}), storage.Create(&api.Any{Kind: api.NodeKind, ID: "b"}))
	require.NoError(t, err)
	version, err := store.Version()
	require.NoError(t, err)
	all := observer(nil).Cached(store)()
	assert.Len(t, all, 7, "what is not stored is not counted")
	assert.Contains(t, all, metrics.Stored{Resource: "nodes", Objects: 2, Version: version})
	assert.True(t, slices.ContainsFunc(all, func(s metrics.Stored) bool { return s.Resource == "pods" && s.Objects == 0 }))
}

// nobody is a store of which nobody knows yet which one it is.
type nobody struct{ storage.Interface }

func (nobody) Cached() storage.Reader {
	return storage.ReaderFunc(func(string) (storage.Reader, error) { return nil, errors.New("not yet") })
}

func TestACacheThatIsNotThereYetTellsNothing(t *testing.T) {
	t.Parallel()
	assert.Empty(t, observer(nil).Cached(nobody{})())
}
