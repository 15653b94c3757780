package etcd2_test

import (
	"strings"
	"testing"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
)

// putters put an object whose number is its version, and read the number again.
var putters = map[string]struct {
	key    string
	create func(registry *etcdRegistry, number int) error
	put    func(registry *etcdRegistry, number int) error
	get    func(registry *etcdRegistry) (int, error)
}{
	"replication controller": {
		key:    controllerKey("x"),
		create: func(r *etcdRegistry, number int) error { return r.CreateController(makeController("x", number)) },
		put:    func(r *etcdRegistry, number int) error { return r.UpdateController(makeController("x", number)) },
		get: func(r *etcdRegistry) (int, error) {
			controller, err := r.GetController("x")
			if err != nil {
				return 0, err
			}
			return controller.DesiredState.Replicas, nil
		},
	},
	"service": {
		key:    specKey("x"),
		create: func(r *etcdRegistry, number int) error { return r.CreateService(makeService("x", number)) },
		put:    func(r *etcdRegistry, number int) error { return r.UpdateService(makeService("x", number)) },
		get: func(r *etcdRegistry) (int, error) {
			service, err := r.GetService("x")
			if err != nil {
				return 0, err
			}
			return service.Port, nil
		},
	},
}

// D43: POST is a create, PUT a compare-and-swap, or a create where there is nothing.
func TestD43ObjectsAreCreatedAndSwappedNeverSet(t *testing.T) {
	t.Parallel()
	for kind, x := range putters {
		faults := etcdtest.NewFaults(etcdtest.NewFake())
		registry := unhurried(faults)
		require.NoError(t, x.put(registry, 1))
		assert.Equal(t, []string{"Get " + registryKey, "Create " + x.key}, faults.Calls(), kind)
		requireKind(t, api.AlreadyExists, x.create(registry, 2))
		faults.Heal()
		require.NoError(t, x.put(registry, 3))
		assert.Equal(t, []string{"Get " + syncKey, "CompareAndSwap " + x.key}, faults.Calls(), kind)
		got, err := x.get(registry)
		require.NoError(t, err)
		assert.Equal(t, 3, got, kind)
	}
}

// D43: a PUT that etcd carries out late, after its request was given up, does not
// overwrite what another apiserver has written since.
func TestD43APutThatArrivesLateLosesNothing(t *testing.T) {
	t.Parallel()
	for kind, x := range putters {
		for _, exists := range []bool{false, true} {
			fake := etcdtest.NewFake()
			other := unhurried(fake)
			if exists {
				require.NoError(t, x.create(other, 1))
			}
			var late func() (*etcd.Response, error)
			registry := unhurried(&etcdtest.Around{Client: fake, Do: func(method, _ string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
				if method == "Get" {
					return call()
				}
				late = call
				return nil, etcdtest.ErrLost
			}})
			requireKind(t, api.Unavailable, x.put(registry, 2))
			require.NoError(t, x.put(other, 3))
			require.NotNil(t, late)
			_, err := late()
			assert.Error(t, err, kind)
			got, err := x.get(other)
			require.NoError(t, err)
			assert.Equal(t, 3, got, kind)
		}
	}
}

// D43: a PUT whose object changes meanwhile is tried again; when others win each
// time it is a conflict.
func TestD43APutThatOthersOvertakeIsTriedAgain(t *testing.T) {
	t.Parallel()
	for kind, x := range putters {
		fake := etcdtest.NewFake()
		other := unhurried(fake)
		registry, clock := patientless(fake)
		overtaken := 0
		registry.store.SetClient(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			resp, err := call()
			if method == "Get" && strings.HasPrefix(syncKey, key) && overtaken > 0 {
				overtaken--
				clock.time = clock.time.Add(etcd2.MaxRequestTime / 10)
				require.NoError(t, x.put(other, 100+overtaken))
			}
			return resp, err
		}})
		overtaken = 2 // the object is made by the other one, then changed
		require.NoError(t, x.put(registry, 1))
		got, err := x.get(other)
		require.NoError(t, err)
		assert.Equal(t, 1, got, kind)

		overtaken = 1000
		err = x.put(registry, 2)
		requireKind(t, api.Conflict, err)
		assert.EqualError(t, err, kind+` "x" is changed by too many others at once`)
		assert.Greater(t, overtaken, 900, "it gives up")
	}
}

// What is noted of a quota belongs to no other object.
func TestReconcileLeavesQuotas(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, clock := patientless(fake)
	written, err := registry.store.Commit(storage.Create(&api.Any{Kind: "quotas", ID: "pods", ObjectMeta: api.ObjectMeta{Namespace: "default", Remainder: `[{"id":"x"}]`}}))
	require.NoError(t, err)
	reconcile(t, registry, clock)
	reconcile(t, registry, clock)
	stored, err := registry.store.Get(api.DefaultKey("quotas", "pods"))
	require.NoError(t, err)
	assert.Equal(t, written[0].Version(), stored.Version())
	assert.EqualValues(t, `[{"id":"x"}]`, stored.Meta().Remainder)
}
