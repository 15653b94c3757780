package etcd2_test

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
	"kube2014/pkg/storage/etcd2/mirror"
	"kube2014/pkg/storage/storagetest"
)

// watching is a watcher of one kind, and the objects as its events tell of them.
type watching struct {
	watcher storage.Watcher
	objects map[string]*storage.Object // by id and, unless it is a pod, machine
	last    uint64
	told    []string
}

// watch begins to watch at the store's present version.
func watch(t *testing.T, store *etcd2.Store, kind api.Kind) *watching {
	list, err := store.List(storage.Selection{Kind: kind})
	require.NoError(t, err)
	w := &watching{objects: map[string]*storage.Object{}, last: list.Version}
	for _, object := range list.Items {
		w.objects[nameOf(object)] = object
	}
	w.watcher, err = store.Watch(storage.Selection{Kind: kind}, list.Version)
	require.NoError(t, err)
	return w
}

func nameOf(object *storage.Object) string {
	if task, ok := object.Object.(*api.Task); ok && !task.IsPod {
		return task.ID + " on " + task.CurrentState.Host
	}
	return object.Key().ID
}

// next reads the events that there are after the store has asked etcd.
func (w *watching) next(t *testing.T, store *etcd2.Store) error {
	_, err := store.Version()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // it reads what there is, and does not wait
	events, err := w.watcher.Next(ctx)
	for _, event := range events {
		require.Greater(t, event.Version, w.last, "each change comes once, in its order")
		w.last = event.Version
		object := event.After
		if object == nil {
			object = event.Before
		}
		name := nameOf(object)
		w.told = append(w.told, fmt.Sprint(event.Type, " ", name))
		require.Equal(t, w.objects[name] == nil, event.Before == nil, name)
		if event.Before != nil {
			require.Equal(t, w.objects[name].Object, event.Before.Object)
		}
		if w.objects[name] = event.After; event.After == nil {
			delete(w.objects, name)
		} else {
			require.Equal(t, event.Version, event.After.Version())
		}
	}
	if err == context.Canceled {
		return nil
	}
	return err
}

// Whoever watches sees each change of any program, once, in its order.
func TestWhoWatchesSeesTheChangesOfOtherPrograms(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry, other := unhurried(client), unhurried(client)
		require.NoError(t, other.CreateTask("m", makeTask("old", 80)))
		w := watch(t, registry.store, api.TaskKind)
		require.NoError(t, other.CreateTask("m", makeTask("theirs", 81)))
		require.NoError(t, registry.CreateTask("m", makeTask("ours", 82)))
		require.NoError(t, other.UpdateTask(makeTask("old", 83)))
		require.NoError(t, w.next(t, registry.store))
		put(t, client, taskKey("m2", "foreign"), makeTask("foreign"))
		require.NoError(t, w.next(t, registry.store))
		require.NoError(t, other.DeleteTask("theirs"))
		put(t, client, taskKey("m2", "foreign"), makeTask("foreign", 90))
		_, err := client.Delete(taskKey("m2", "foreign"), false)
		require.NoError(t, err)
		require.NoError(t, w.next(t, registry.store))
		assert.Equal(t, []string{"ADDED theirs on m", "ADDED ours on m", "MODIFIED old on m", "ADDED foreign on m2",
			"DELETED theirs on m", "MODIFIED foreign on m2", "DELETED foreign on m2"}, w.told)
	})
}

// The events add up to what is in etcd, whoever writes what.
func TestTheEventsAddUpToTheObjects(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	random := rand.New(rand.NewSource(3))
	registries := []*etcdRegistry{unhurried(fake), unhurried(fake)}
	kinds := []api.Kind{api.TaskKind, api.ServiceKind, api.EndpointsKind}
	watchers := map[api.Kind]*watching{}
	for _, kind := range kinds {
		watchers[kind] = watch(t, registries[0].store, kind)
	}
	for step := range 400 {
		switch random.Intn(6) {
		case 0:
			put(t, fake, taskKey(machineNames(3)[random.Intn(3)], fmt.Sprint("foreign-", random.Intn(3))), makeTask("", 1000+step))
		case 1:
			require.NoError(t, syncEndpoints(registries[random.Intn(2)]))
		default:
			changeAtRandom(t, registries[random.Intn(2)], random)
		}
		if step%3 == 0 {
			for _, kind := range kinds {
				require.NoError(t, watchers[kind].next(t, registries[0].store))
			}
		}
	}
	for _, kind := range kinds {
		w := watchers[kind]
		require.NoError(t, w.next(t, registries[0].store))
		require.Greater(t, len(w.told), 20, kind)
		list, err := unhurried(fake).store.List(storage.Selection{Kind: kind})
		require.NoError(t, err)
		require.Len(t, w.objects, len(list.Items))
		for _, object := range list.Items {
			require.Equal(t, object.Object, w.objects[nameOf(object)].Object)
		}
	}
}

// Changes that cannot be had one by one cut off whoever watches; nothing is skipped.
func TestWhoWouldMissAChangeIsCutOff(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		watch   func(call func() (*etcd.Response, error)) (*etcd.Response, error)
		foreign func(t *testing.T, fake *etcdtest.Fake)
	}{
		"too many changes at once": {foreign: func(t *testing.T, fake *etcdtest.Fake) {
			for i := range mirror.MaxEvents + 1 {
				put(t, fake, controllerKey("other"), makeController("other", i))
			}
		}},
		"etcd's history does not reach back": {watch: func(func() (*etcd.Response, error)) (*etcd.Response, error) {
			return nil, &etcd.EtcdError{ErrorCode: etcdtest.EventCleared, Message: "The event in requested index is outdated and cleared"}
		}},
		"etcd cannot be asked for the change": {watch: func(func() (*etcd.Response, error)) (*etcd.Response, error) {
			return nil, etcdtest.ErrLost
		}},
		"etcd answers with another change": {watch: func(call func() (*etcd.Response, error)) (*etcd.Response, error) {
			resp, err := call()
			resp.Node.ModifiedIndex++
			return resp, err
		}},
		"a directory is deleted": {foreign: func(t *testing.T, fake *etcdtest.Fake) {
			_, err := fake.Delete(controllersKey, true)
			require.NoError(t, err)
		}},
		"a key where none should be": {foreign: func(t *testing.T, fake *etcdtest.Fake) {
			put(t, fake, controllerKey("old")+"-/below", "x")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := etcdtest.NewFake()
			registry := unhurried(&etcdtest.Around{Client: fake, Do: func(method, _ string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
				if method == "Watch" && row.watch != nil {
					return row.watch(call)
				}
				return call()
			}})
			require.NoError(t, registry.CreateController(makeController("old", 1)))
			w := watch(t, registry.store, api.ControllerKind)
			if row.foreign == nil {
				put(t, fake, controllerKey("other"), makeController("other", 1))
			} else {
				row.foreign(t, fake)
			}
			require.Equal(t, api.Expired, api.KindOf(w.next(t, registry.store)))
			assert.Empty(t, w.told)
			again := watch(t, registry.store, api.ControllerKind)
			require.NoError(t, registry.UpdateController(makeController("new", 1)))
			require.NoError(t, again.next(t, registry.store))
			assert.Equal(t, []string{"ADDED new"}, again.told)
			requireExact(t, fake, registry)
		})
	}
}

func TestWhoWatchesAnEtcdThatIsReplacedIsCutOff(t *testing.T) {
	t.Parallel()
	client := &switching{etcdtest.NewFake()}
	registry := unhurried(client)
	for i := range 3 {
		require.NoError(t, registry.CreateController(makeController(fmt.Sprint("old-", i), 1)))
	}
	w := watch(t, registry.store, api.ControllerKind)
	client.Client = etcdtest.NewFake()
	require.NoError(t, unhurried(client).CreateController(makeController("new", 1)))
	require.Equal(t, api.Expired, api.KindOf(w.next(t, registry.store)))
	requireExact(t, client, registry)
}

// Without a request of anybody, a change of another program reaches whoever watches
// within a second.
func TestFollowAsksEtcdWhileSomebodyWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faults := etcdtest.NewFaults(etcdtest.NewFake())
		registry := makeRegistry(faults)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			registry.Follow(ctx)
		}()
		time.Sleep(time.Minute) // the bubble's clock: it takes no time
		assert.Empty(t, faults.Calls(), "nobody watches")

		w := watch(t, registry.store, api.ControllerKind)
		put(t, faults.Client, controllerKey("other"), makeController("other", 1))
		began := time.Now()
		events, err := w.watcher.Next(t.Context())
		require.NoError(t, err)
		require.Len(t, events, 1)
		assert.Less(t, time.Since(began), time.Second)
		stop()
		<-ended
	})
}

// A version is etcd's own index: every process has the same, also after a restart.
func TestTheVersionsAreThoseOfEtcd(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry := unhurried(client)
		require.NoError(t, registry.CreateTask("m", makeTask("x", 80)))
		created, err := registry.store.Get(api.DefaultKey(api.TaskKind, "x"))
		require.NoError(t, err)
		require.NoError(t, registry.UpdateTask(makeTask("x", 81)))
		require.NoError(t, registry.CreateController(makeController("c", 1)))
		require.NoError(t, registry.UpdateController(makeController("c", 2)))
		updated, err := registry.store.Get(api.DefaultKey(api.TaskKind, "x"))
		require.NoError(t, err)
		assert.Greater(t, updated.Version(), created.Version())
		assert.Equal(t, created.Meta().CreationVersion, updated.Meta().CreationVersion)
		assert.Equal(t, api.UIDOf(created), api.UIDOf(updated))
		node, err := client.Get(taskKey("m", "x"), false, false)
		require.NoError(t, err)
		assert.Equal(t, node.Node.ModifiedIndex, updated.Version())
		assert.Equal(t, node.Node.CreatedIndex, updated.Meta().CreationVersion)
		requireExact(t, client, registry)
	})
}

// A change names the version that it expects.
func TestAChangeOfAnotherVersionIsAConflict(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry := unhurried(client)
		require.NoError(t, registry.CreateTask("m", makeTask("x", 80)))
		require.NoError(t, registry.CreateService(makeService("x", 1)))
		for _, kind := range []api.Kind{api.TaskKind, api.ServiceKind} {
			old, err := registry.store.Get(api.DefaultKey(kind, "x"))
			require.NoError(t, err)
			object := func() api.Object {
				if kind == api.TaskKind {
					task := on("m", makeTask("x", 81))
					return &task
				}
				service := makeService("x", 2)
				return &service
			}
			written, err := registry.store.Commit(storage.Update(object(), old.Version()))
			require.NoError(t, err)
			require.Greater(t, written[0].Version(), old.Version())
			for _, change := range []storage.Change{storage.Update(object(), old.Version()), storage.Delete(api.DefaultKey(kind, "x"), old.Version())} {
				_, err = registry.store.Commit(change)
				requireKind(t, api.Conflict, err)
				assert.EqualError(t, err, string(kind)+` "x" has changed`)
			}
			_, err = registry.store.Commit(storage.Delete(api.DefaultKey(kind, "x"), written[0].Version()))
			require.NoError(t, err)
			_, err = registry.store.Commit(storage.Update(object(), written[0].Version()))
			requireKind(t, api.NotFound, err)
			_, err = registry.store.Commit(storage.Delete(api.DefaultKey(kind, "x"), storage.Any))
			require.NoError(t, err)
		}
		requireConsistent(t, client)
	})
}

// While a create is at work, nobody else gets its host port: neither from the
// scheduler nor, by another way, with a call to etcd.
func TestTheHostPortsOfACreateAtWorkAreTaken(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	var registry *etcdRegistry
	calls, looked, other := 0, false, makeTask("other", 80)
	registry = unhurried(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		calls++
		if method == "Create" && strings.HasPrefix(key, indexKey) && !looked {
			looked = true
			machine := storagetest.FirstFree(t, registry.store, []string{"m1", "m2"}, &other)
			assert.Equal(t, "m2", machine)
			before := calls
			requireKind(t, api.HostPortTaken, registry.CreateTask("m1", makeTask("other", 80)))
			assert.Equal(t, before, calls)
		}
		return call()
	}})
	listed(t, registry)
	require.NoError(t, registry.CreateTask("m1", makeTask("x", 80)))
	require.True(t, looked)
	require.NoError(t, registry.DeleteTask("x"))
	machine := storagetest.FirstFree(t, registry.store, []string{"m1", "m2"}, &other)
	assert.Equal(t, "m1", machine)
}
