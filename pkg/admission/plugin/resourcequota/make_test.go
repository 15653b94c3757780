package resourcequota

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/storage/memory"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

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
		client := etcdtest.Own(t, etcd.New)
		test(t, func() storage.Interface {
			store := etcd2.New(client, nil)
			start := time.Now()
			store.SetClock(func() time.Time { return start }, func(time.Duration) <-chan time.Time { return nil }) // it has all the time that a slow machine takes
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
		client, prefix := etcdtest.OwnV3(t, func(servers []string) (*etcd.V3, error) { return etcd.NewV3(etcd.Config{Servers: servers}) })
		client.SetTimeout(5 * time.Minute)
		test(t, func() storage.Interface {
			store := etcd3.New(client, prefix)
			store.SetTimeout(5 * time.Minute)
			t.Cleanup(store.Close)
			return frozen{store, time.Now()}
		})
	})
}

// frozen is a store whose time stands still: an update is tried again as often as it takes.
type frozen struct {
	storage.Interface
	now time.Time
}

// Now implements storage.Clock.
func (f frozen) Now() time.Time { return f.now }

// quota is the configuration of one quota.
func quota(name, hard string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":%q},"spec":{"hard":%s}}`, name, hard)
}

// now is the time in tests that do not wait.
func now() time.Time { return time.Date(2026, 6, 6, 12, 0, 0, 0, time.UTC) }

// server is one process: a plugin over a store. Its time stands still, and it has all the time that a
// slow machine takes.
type server struct {
	storage.Interface
	*Plugin
	chain *admission.Chain
}

func newServer(t *testing.T, store storage.Interface, configuration string) *server {
	s := &server{Interface: store}
	var plugins admission.Plugins
	plugins.Register(Name, New)
	var err error
	s.chain, err = plugins.New([]string{Name}, map[string]json.RawMessage{Name: json.RawMessage(configuration)})
	require.NoError(t, err)
	s.chain.Each(func(_ string, plugin admission.Interface) {
		s.Plugin = plugin.(*Plugin)
		s.Now, s.patience = now, time.Hour
		require.NoError(t, plugin.(WantsObjects).SetObjects(store, catalog()))
	})
	return s
}

var (
	pods  = corev1.Resource("pods")
	roles = schema.GroupResource{Group: rbacv1.GroupName, Resource: "roles"}
)

// catalog has the resources of the program.
func catalog() rest.Catalogs {
	c := &rest.Catalog{}
	core := corev1.SchemeGroupVersion
	c.Install(
		rest.Resource{GroupVersion: core, Name: "pods", Namespaced: true, Stored: api.TaskKind}, rest.Resource{GroupVersion: core, Name: "services", Namespaced: true, Stored: api.ServiceKind},
		rest.Resource{GroupVersion: core, Name: "replicationcontrollers", Namespaced: true, Stored: api.ControllerKind},
		rest.Resource{GroupVersion: core, Name: "events", Namespaced: true, Stored: "events"}, rest.Resource{GroupVersion: core, Name: "endpoints", Namespaced: true, Stored: api.EndpointsKind},
		rest.Resource{GroupVersion: core, Name: "nodes", Stored: api.NodeKind}, rest.Resource{GroupVersion: core, Name: "bindings", Namespaced: true},
		rest.Resource{GroupVersion: rbacv1.SchemeGroupVersion, Name: "roles", Namespaced: true, Stored: "roles"},
		rest.Resource{GroupVersion: rbacv1.SchemeGroupVersion, Name: "rolebindings", Namespaced: true, Stored: "rolebindings"},
	)
	return rest.Catalogs{c}
}

// begin begins a request.
func (s *server) begin(ctx context.Context, a admission.Attributes) *admission.Request {
	if a.Resource.Resource == "" {
		a.Resource = pods.WithVersion("v1")
	}
	return s.chain.Begin(ctx, a)
}

// reserve is a request that has been admitted, and has not ended.
func (s *server) reserve(ctx context.Context, id string) (*admission.Request, error) {
	r := s.begin(ctx, admission.Attributes{Operation: admission.Create})
	return r, r.Validate(objectNamed(id), nil)
}

func objectNamed(id string) admission.Object {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: id}}
}

// create makes a whole request that creates a pod, as both doors do. Like a good client, it tries
// again what may work then.
func (s *server) create(ctx context.Context, id string) error {
	for {
		r, err := s.reserve(ctx, id)
		if err == nil {
			_, err = s.Commit(storage.Create(&api.Task{JSONBase: api.JSONBase{ID: id}, IsPod: true}))
			err = rest.StatusError(err, pods, id)
		}
		r.End(err)
		if !apierrors.IsTooManyRequests(err) {
			return err
		}
	}
}

func (s *server) delete(id string) error {
	_, err := s.Commit(storage.Delete(api.DefaultKey(api.TaskKind, id), storage.Present))
	return err
}

// reservations returns how many there are for pods.
func reservations(t *testing.T, store storage.Interface) int {
	stored, err := store.Get(api.DefaultKey("quotas", "pods"))
	if api.KindOf(err) == api.NotFound {
		return 0
	}
	require.NoError(t, err)
	return len(reservationsIn(stored))
}

func idsIn(t *testing.T, store storage.Interface) (ids []string) {
	list, err := store.List(storage.Selection{Kind: api.TaskKind})
	require.NoError(t, err)
	for _, item := range list.Items {
		ids = append(ids, item.Key().ID)
	}
	return ids
}

// disturbed is a store of which some calls do something else first.
type disturbed struct {
	storage.Interface
	commit func(storage.Change) error
	list   func()
	get    func()
	ticks  *atomic.Int64 // seconds that have passed; one more whenever somebody asks
}

func (d disturbed) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	if d.commit != nil {
		if err := d.commit(changes[0]); err != nil {
			return nil, err
		}
	}
	return d.Interface.Commit(changes...)
}

func (d disturbed) Get(key api.Key) (*storage.Object, error) {
	if d.get != nil {
		d.get()
	}
	return d.Interface.Get(key)
}

func (d disturbed) List(selection storage.Selection) (*storage.List, error) {
	list, err := d.Interface.List(selection)
	if d.list != nil {
		d.list()
	}
	return list, err
}

// Now implements storage.Clock.
func (d disturbed) Now() time.Time {
	if d.ticks == nil {
		return time.Now()
	}
	return time.Unix(d.ticks.Add(1), 0)
}
