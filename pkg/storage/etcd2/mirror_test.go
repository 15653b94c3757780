package etcd2_test

import (
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
)

// listed returns a registry's tasks as they are answered.
func listed(t *testing.T, registry *etcdRegistry) string {
	t.Helper()
	list, err := registry.store.List(storage.Selection{Kind: api.TaskKind})
	require.NoError(t, err)
	encoded, err := v1beta1.Codec.Encode(list)
	require.NoError(t, err)
	return string(encoded.Bytes())
}

// requireExact checks that a registry's mirror holds the same objects and lists as
// etcd, with the same versions.
func requireExact(t *testing.T, client etcdtest.Client, registry *etcdRegistry) {
	t.Helper()
	fresh := unhurried(client)
	require.Equal(t, listed(t, fresh), listed(t, registry))
	require.Equal(t, fresh.store.Machines(), registry.store.Machines())
	for _, kind := range []api.Kind{api.TaskKind, api.ControllerKind, api.ServiceKind, api.EndpointsKind, api.NodeKind, "events"} {
		want, err := fresh.store.List(storage.Selection{Kind: kind})
		require.NoError(t, err)
		got, err := registry.store.List(storage.Selection{Kind: kind})
		require.NoError(t, err)
		require.Equal(t, objectsOf(want), objectsOf(got))
	}
	require.True(t, registry.store.Idle(), "nothing is left of a request")
}

// objectsOf returns the objects of a list, with their versions.
func objectsOf(list *storage.List) (objects []api.Object) {
	for _, object := range list.Items {
		objects = append(objects, object.Object)
	}
	return objects
}

// changeAtRandom makes a random change through a registry, or none when it is refused.
func changeAtRandom(t *testing.T, registry *etcdRegistry, random *rand.Rand) {
	storage := patient{storageOf(registry, schedulersOver(machineNames(3), registry)["first fit"])}
	id, port := fmt.Sprintf("task-%d", random.Intn(12)), 80+random.Intn(5)
	var err error
	switch random.Intn(9) {
	case 0, 1:
		err = storage.Create(makeTask(id, port))
	case 2:
		err = storage.Update(makeTask(id, port))
	case 3:
		err = storage.Delete(id)
	case 4:
		err = registry.UpdateService(makeService(fmt.Sprintf("service-%d", random.Intn(3)), port))
	case 5:
		err = registry.DeleteService(fmt.Sprintf("service-%d", random.Intn(3)))
	case 6:
		err = registry.CreateTask("", makePod("", "subject", port))
	case 7:
		err = bind(registry, machineNames(3)[random.Intn(3)])
	case 8:
		err = registry.DeleteTask("subject")
	}
	assert.Contains(t, []api.ErrorKind{"", api.NotFound, api.AlreadyExists, api.Conflict, api.HostPortTaken}, api.KindOf(err))
}

func TestTheCacheIsUpToDateWhoeverWrites(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		random := rand.New(rand.NewSource(1))
		registries := []*etcdRegistry{unhurried(client), unhurried(client)}
		for step := range 200 {
			writer := registries[0]
			if random.Intn(4) == 0 {
				writer = registries[1]
			}
			changeAtRandom(t, writer, random)
			if random.Intn(20) == 0 { // another program, which writes no index key
				put(t, client, taskKey(machineNames(3)[random.Intn(3)], "foreign"), makeTask("foreign", 1000+step))
			}
			if step%5 == 0 {
				requireExact(t, client, registries[random.Intn(2)])
			}
		}
	})
}

func TestTheCacheIsUpToDateAfterConcurrentWrites(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		for _, writers := range []int{1, 2} {
			var registries []*etcdRegistry
			for range writers {
				registries = append(registries, unhurried(client))
			}
			var group sync.WaitGroup
			for worker := range 8 {
				group.Go(func() {
					random := rand.New(rand.NewSource(int64(worker)))
					registry := registries[worker%writers]
					for range 15 {
						changeAtRandom(t, registry, random)
						_, err := registry.ListTasks(nil)
						assert.NoError(t, err)
					}
				})
			}
			group.Wait()
			for _, registry := range registries {
				requireExact(t, client, registry)
			}
		}
	})
}

// As long as only one process writes, the mirror is not read again, in whatever
// order the answers to its writes arrive.
func TestOwnWritesNeverMakeTheCacheStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake, reads := etcdtest.NewFake(), 0
		var mu sync.Mutex // guards reads and delays
		delays := rand.New(rand.NewSource(1))
		slow := &etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			resp, err := call()
			mu.Lock()
			delay := time.Duration(delays.Intn(300)) * time.Microsecond
			if key == registryKey {
				reads++
			}
			mu.Unlock()
			time.Sleep(delay) // the answers overtake each other; the bubble's clock: it takes no time
			return resp, err
		}}
		registry := makeRegistry(slow)
		listed(t, registry)
		var group sync.WaitGroup
		for worker := range 8 {
			group.Go(func() {
				random := rand.New(rand.NewSource(int64(worker)))
				for range 30 {
					changeAtRandom(t, registry, random)
				}
			})
		}
		group.Wait()
		requireExact(t, fake, registry)
		assert.Equal(t, 1, reads)
	})
}

func TestAnEtcdThatHasLostItsDataIsReadAgain(t *testing.T) {
	t.Parallel()
	first, second := etcdtest.NewFake(), etcdtest.NewFake()
	registry := unhurried(first)
	for i := range 5 {
		require.NoError(t, registry.CreateTask("m", makeTask(fmt.Sprintf("old-%d", i))))
	}
	require.Contains(t, listed(t, registry), "old-0")
	put(t, second, taskKey("m", "new"), makeTask("new"))
	registry.store.SetClient(second)
	var list api.TaskList
	require.NoError(t, v1beta1.Codec.Unmarshal([]byte(listed(t, registry)), &list))
	assert.Equal(t, []string{"new"}, taskIDs(list.Items))
	require.NoError(t, registry.CreateTask("m", makeTask("newer")))
	requireExact(t, second, registry)
}

// A write whose answer is lost may take effect: the mirror is stale until it has
// been read again.
func TestAWriteWhoseAnswerIsLostMakesTheCacheStale(t *testing.T) {
	t.Parallel()
	faults := etcdtest.NewFaults(etcdtest.NewFake())
	registry := unhurried(faults)
	require.NoError(t, registry.CreateTask("m", makeTask("a")))
	faults.FailAt(3, etcdtest.LostAfter) // index, list, task
	requireKind(t, api.Unavailable, registry.CreateTask("m", makeTask("b")))
	faults.Heal()
	got, err := registry.GetTask("b")
	require.NoError(t, err)
	assert.Equal(t, on("m", makeTask("b")), *bare(got))
	requireExact(t, faults, registry)
}

// switching is an etcd that can be replaced by another one.
type switching struct{ etcdtest.Client }

// The other etcd's index is higher than the first one's when that was last
// asked, but lower than one that it has answered since.
func TestAnEtcdThatWasReplacedIsReadAgain(t *testing.T) {
	t.Parallel()
	client := &switching{etcdtest.NewFake()}
	registry := unhurried(client)
	listed(t, registry)
	for i := range 5 {
		require.NoError(t, registry.CreateTask("m", makeTask(fmt.Sprintf("old-%d", i))))
	}
	client.Client = etcdtest.NewFake()
	require.NoError(t, unhurried(client).CreateTask("m", makeTask("new-0")))
	require.NoError(t, registry.CreateTask("m", makeTask("new-1")))
	tasks, err := registry.ListTasks(nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"new-0", "new-1"}, taskIDs(tasks))
	requireExact(t, client, registry)
}

// after returns a client that does something once, after a call.
func after(client etcdtest.Client, call string, do *func()) etcdtest.Client {
	return &etcdtest.Around{Client: client, Do: func(method, key string, f func() (*etcd.Response, error)) (*etcd.Response, error) {
		resp, err := f()
		if once := *do; once != nil && method+" "+key == call {
			*do = nil
			once()
		}
		return resp, err
	}}
}

// The mirror is etcd at one moment: an own write is not applied before another
// program's write that came first.
func TestAListIsThatOfOneMoment(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	var meanwhile func()
	registry, other := unhurried(after(fake, "Get "+syncKey, &meanwhile)), unhurried(fake)
	require.NoError(t, registry.CreateTask("m", makeTask("y", 80)))
	listed(t, registry)
	meanwhile = func() {
		require.NoError(t, other.CreateTask("m", makeTask("x", 81)))
		require.NoError(t, registry.DeleteTask("y"))
	}
	tasks, err := registry.ListTasks(nil)
	require.NoError(t, err)
	assert.NotEmpty(t, tasks, "at no moment there was no task")
}

// A host port of a task whose update stopped half way, which is not in the
// mirror, is not given away.
func TestAHalfUpdateThatIsNotCachedKeepsItsHostPorts(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	var meanwhile func()
	registry, other := unhurried(fake), unhurried(fake)
	require.NoError(t, registry.CreateTask("m", makeTask("x", 81)))
	require.NoError(t, registry.CreateTask("m", makeTask("y", 99)))
	listed(t, registry)
	noon, looks := registry.store.Now(), 0
	registry.store.SetSleep(func() time.Time {
		if looks++; meanwhile != nil && looks == 4 { // the claim is written, the mirror is up to date
			once := meanwhile
			meanwhile = nil
			once()
		}
		return noon
	}, nil)
	meanwhile = func() {
		require.NoError(t, other.UpdateTask(makeTask("x", 82)))
		dying := unhurried(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			if method+" "+key == "CompareAndSwap "+taskKey("m", "x") {
				return nil, etcdtest.ErrLost
			}
			return call()
		}})
		require.Error(t, dying.UpdateTask(makeTask("x", 83)))
		require.NoError(t, registry.UpdateTask(makeTask("y", 98)))
	}
	looks = 0
	requireKind(t, api.HostPortTaken, registry.CreateTask("m", makeTask("new", 82)))
	require.Nil(t, meanwhile)
}

// Another program's task with the same id is noticed even if another request has
// just refreshed the mirror.
func TestAForeignTaskThatTheCacheHasJustReadIsNoticed(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	var meanwhile func()
	registry := unhurried(after(fake, "Create "+indexEntryKey("x"), &meanwhile))
	listed(t, registry)
	put(t, fake, taskKey("m1", "x"), makeTask("x"))
	meanwhile = func() { listed(t, registry) }
	requireKind(t, api.AlreadyExists, registry.CreateTask("m2", makeTask("x")))
	require.Nil(t, meanwhile)
}

func TestABrokenServiceHidesNoOtherFromManifests(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry := unhurried(fake)
	require.NoError(t, registry.CreateService(makeService("aaa", 1)))
	require.NoError(t, registry.CreateService(makeService("zzz", 2)))
	_, err := fake.Set(specKey("broken"), "not JSON", 0)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, registry.CreateTask("m", makeTask(fmt.Sprint(i), 80+i)))
	}
	assert.Equal(t, 3, strings.Count(keysOf(t, fake, hostsKey)[kubeletKey("m")], "ZZZ_SERVICE_PORT"))
}

// What another program writes does not change which copy of a task counts.
func TestATaskIsWhereTheIndexHasIt(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"another copy": `{"id":"x"}`, "what is no task": "nope"} {
		fake := etcdtest.NewFake()
		registry := unhurried(fake)
		require.NoError(t, registry.CreateTask("m2", makeTask("x")))
		_, err := fake.Set(taskKey("m1", "x"), value, 0)
		require.NoError(t, err)
		for _, before := range []func(){func() {}, func() { listed(t, registry) }, func() { put(t, fake, "/other", "1") }} {
			before()
			got, err := registry.GetTask("x")
			require.NoError(t, err, name)
			assert.Equal(t, "m2", got.CurrentState.Host, name)
		}
	}
}

// A delete looks up the index before the task is created. It also deletes the
// new task's manifest and index key, even if the list changes meanwhile.
func TestADeleteThatOvertakesItsCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	other := unhurried(fake)
	var created, deleted func()
	client := after(after(fake, "Get "+indexEntryKey("x"), &created), "CompareAndDelete "+taskKey("m", "x"), &deleted)
	registry := unhurried(client)
	created = func() { require.NoError(t, other.CreateTask("m", makeTask("x", 80))) }
	deleted = func() { require.NoError(t, other.CreateTask("m", makeTask("y", 81))) }
	require.NoError(t, registry.DeleteTask("x"))
	require.Nil(t, created)
	require.Nil(t, deleted)
	requireConsistent(t, fake)
}

// A task that is deleted and created again during a delete is deleted with its
// own manifest and index key, not with those of the earlier task.
func TestADeleteOfATaskThatIsMadeAgainLeavesNothing(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	other := unhurried(fake)
	require.NoError(t, other.CreateTask("m", makeTask("x", 80)))
	var located, deleted func()
	client := after(after(fake, "Get "+indexEntryKey("x"), &located), "CompareAndDelete "+taskKey("m", "x"), &deleted)
	registry := unhurried(client)
	located = func() {
		require.NoError(t, other.DeleteTask("x"))
		require.NoError(t, other.CreateTask("m", makeTask("x", 80)))
		require.NoError(t, other.UpdateTask(makeTask("x", 82)))
	}
	deleted = func() { require.NoError(t, other.CreateTask("m", makeTask("y", 81))) }
	require.NoError(t, registry.DeleteTask("x"))
	require.Nil(t, located)
	require.Nil(t, deleted)
	requireConsistent(t, fake)
}
