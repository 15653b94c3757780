package resourcequota

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/quota"
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

// few is a quota with limits in JSON.
func few(name, hard string) *corev1.ResourceQuota {
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if err := json.Unmarshal([]byte(hard), &q.Spec.Hard); err != nil {
		panic(err)
	}
	return q
}

// codec converts quotas.
var codec = v1.NewCodec(corev1.SchemeGroupVersion.WithKind("ResourceQuota"), quota.Kind, v1.Scheme)

// put stores a quota, unless it is there.
func put(t *testing.T, store storage.Interface, q *corev1.ResourceQuota) {
	internal, err := codec.ToInternal(q.DeepCopy())
	require.NoError(t, err)
	if _, err = store.Commit(storage.Create(internal)); api.KindOf(err) != api.AlreadyExists {
		require.NoError(t, err)
	}
}

// used returns what is used of a quota according to its status.
func used(t *testing.T, store storage.Interface, name string) map[string]string {
	stored, err := store.Get(api.DefaultKey(quota.Kind, name))
	require.NoError(t, err)
	object, err := codec.ToVersioned(stored.Object)
	require.NoError(t, err)
	all := map[string]string{}
	for name, quantity := range object.(*corev1.ResourceQuota).Status.Used {
		all[string(name)] = quantity.String()
	}
	return all
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

func newServer(t *testing.T, store storage.Interface, quotas ...*corev1.ResourceQuota) *server {
	s := &server{Interface: store}
	plugins := admission.Plugins{}
	plugins[Name] = New
	var err error
	s.chain, err = plugins.New([]string{Name}, nil)
	require.NoError(t, err)
	s.chain.Each(func(_ string, p admission.Interface) {
		s.Plugin = p.(*Plugin)
		s.Now, s.patience = now, time.Hour
		s.SetObjects(store, store, catalog())
	})
	for _, q := range quotas {
		put(t, store, q)
	}
	return s
}

var pods = corev1.Resource("pods")

// catalog has some resources of the program.
func catalog() rest.Catalogs {
	c := &rest.Catalog{}
	for name, row := range map[string]rest.Resource{
		"pods":       {Kind: corev1.SchemeGroupVersion.WithKind("Pod"), StoredKind: api.TaskKind},
		"services":   {Kind: corev1.SchemeGroupVersion.WithKind("Service"), StoredKind: api.ServiceKind},
		"configmaps": {Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), StoredKind: "configmaps"},
		"roles":      {GroupVersion: rbacv1.SchemeGroupVersion, Kind: rbacv1.SchemeGroupVersion.WithKind("Role"), StoredKind: "roles.rbac.authorization.k8s.io"},
		"events":     {Kind: corev1.SchemeGroupVersion.WithKind("Event"), StoredKind: "events"},
		"bindings":   {Kind: corev1.SchemeGroupVersion.WithKind("Binding")},
	} {
		row.Name, row.Namespaced, row.GroupVersion = name, true, row.Kind.GroupVersion()
		c.Install(row)
	}
	return rest.Catalogs{c}
}

// begin begins a request.
func (s *server) begin(ctx context.Context, a admission.Attributes) *admission.Request {
	if a.Resource.Resource == "" {
		a.Resource = pods.WithVersion("v1")
	}
	a.Namespace = "default"
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

// reservations returns how many the quota q has.
func reservations(t *testing.T, store storage.Interface) int {
	stored, err := store.Get(quota.Reservations(api.DefaultKey(quota.Kind, "q")))
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
