package etcd2_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"sync/atomic"
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
)

func inParallel(work []func()) {
	var group sync.WaitGroup
	for _, one := range work {
		group.Go(one)
	}
	group.Wait()
}

// Tasks that another program wrote without index keys are like any other.
func TestTasksWithoutAnIndexEntryAreFound(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry, time := patientless(client)
		for _, id := range []string{"a", "b", "c"} {
			put(t, client, taskKey("m1", id), makeTask(id))
		}
		put(t, client, kubeletKey("m1"), []api.ContainerManifest{{Id: "a"}})
		storage := taskStorage(registry)

		got, err := registry.GetTask("a")
		require.NoError(t, err)
		assert.Equal(t, on("m1", makeTask("a")), *bare(got))
		_, err = registry.GetTask("nope")
		requireKind(t, api.NotFound, err)
		requireKind(t, api.AlreadyExists, storage.Create(makeTask("a")))
		requireKind(t, api.AlreadyExists, registry.CreateTask("m1", makeTask("b")))
		requireKind(t, api.AlreadyExists, registry.CreateTask("m2", makeTask("c")))
		require.NoError(t, registry.UpdateTask(makeTask("a", 80)))
		require.NoError(t, registry.DeleteTask("b"))
		requireKind(t, api.NotFound, registry.DeleteTask("b"))

		reconcile(t, registry, time)
		requireConsistent(t, client)
		tasks, err := registry.ListTasks(nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "c"}, taskIDs(tasks))
	})
}

// D39: a task is found on its machine, whichever machines -machines names.
func TestD39ATaskIsFoundOnAnyMachine(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		require.NoError(t, unhurried(client).CreateTask("m9", makeTask("x", 80)))
		registry := unhurried(client)
		storage := taskStorage(registry)
		got, err := registry.GetTask("x")
		require.NoError(t, err)
		assert.Equal(t, "m9", got.CurrentState.Host)
		tasks, err := registry.ListTasks(nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"x"}, taskIDs(tasks))
		requireKind(t, api.AlreadyExists, storage.Create(makeTask("x", 81)))
		require.NoError(t, storage.Update(makeTask("x", 82)))
		require.NoError(t, storage.Delete("x"))
		assert.Equal(t, map[string]string{kubeletKey("m9"): "[]"}, keysOf(t, client, registryKey))
	})
}

// The id is that of the key, whatever the value says.
func TestObjectsHaveTheIDOfTheirKey(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry, time := patientless(client)
		for key, value := range map[string]string{
			specKey("a"): `{"port":1}`, specKey("b"): `null`, specKey("c"): `{"id":"../specs/a","port":3}`,
			controllerKey("a"): `{}`, endpointKey("a"): `{"Name":"../specs/a","Endpoints":["m:1"]}`,
			taskKey("m", "a"): `{"id":"b"}`,
		} {
			_, err := client.Set(key, value, 0)
			require.NoError(t, err)
		}
		require.NoError(t, syncEndpoints(registry))
		reconcile(t, registry, time)
		services, endpoints := registry.servicesAndEndpoints(t)
		var ids []string
		for _, service := range services {
			ids = append(ids, service.ID)
			assert.Equal(t, api.Endpoints{Name: service.ID, Endpoints: []string{}}, endpoints[service.ID])
		}
		assert.Equal(t, []string{"a", "b", "c"}, ids)
		service, err := registry.GetService("c")
		require.NoError(t, err)
		assert.Equal(t, api.Service{JSONBase: api.JSONBase{ID: "c"}, ObjectMeta: service.ObjectMeta, Port: 3}, *service)
		controllers, err := registry.ListControllers()
		require.NoError(t, err)
		assert.Equal(t, "a", controllers[0].ID)
		requireConsistent(t, client)
	})
}

func TestWhatAnotherProgramWroteStaysInTheList(t *testing.T) {
	t.Parallel()
	client := etcdtest.NewFake()
	_, err := client.Set(kubeletKey("m"), `[{"id":"theirs","version":"v9","volumes":null,"containers":[{"new":"field","ports":[{"hostPort":80}]}]}]`, 0)
	require.NoError(t, err)
	registry := unhurried(client)
	requireKind(t, api.HostPortTaken, registry.CreateTask("m", makeTask("x", 80)))
	require.NoError(t, registry.CreateTask("m", makeTask("x", 81)))
	list := keysOf(t, client, hostsKey)[kubeletKey("m")]
	assert.True(t, strings.HasPrefix(list, `[{"id":"theirs","version":"v9","volumes":null,"containers":[{"new":"field","ports":[{"hostPort":80}]}]},`), list)
}

// An orphaned claim is taken over by the next create of its id, as soon as no
// request can be working on it.
func TestAnOrphanedClaimIsTakenOver(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry, time := patientless(client)
		for _, machine := range []string{"m", "m2", "_m", "a/b"} {
			_, err := client.Create(indexEntryKey("x"), machine, 0)
			require.NoError(t, err)
			_, err = registry.GetTask("x")
			requireKind(t, api.NotFound, err)
			requireKind(t, api.NotFound, registry.DeleteTask("x"))
			requireKind(t, api.NotFound, registry.UpdateTask(makeTask("x")))

			start := time.time
			require.NoError(t, registry.CreateTask("m2", makeTask("x", 80)))
			assert.GreaterOrEqual(t, time.time.Sub(start), etcd2.ClaimPatience)
			assert.LessOrEqual(t, time.time.Sub(start), etcd2.MaxClaimTime)
			got, err := registry.GetTask("x")
			require.NoError(t, err)
			assert.Equal(t, on("m2", makeTask("x", 80)), *bare(got))
			requireConsistent(t, client)
			require.NoError(t, registry.DeleteTask("x"))
		}
	})
}

// If there is a manifest, the write of the task may be in flight. The id is free
// when Reconcile has removed the manifest.
func TestAClaimWithAManifestIsLeftToReconcile(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, time := patientless(fake)
	_, err := fake.Create(indexEntryKey("x"), "m", 0)
	require.NoError(t, err)
	put(t, fake, kubeletKey("m"), []api.ContainerManifest{{Id: "x"}})
	before := keysOf(t, fake, registryKey)
	start := time.time
	err = registry.CreateTask("m2", makeTask("x"))
	requireKind(t, api.Unavailable, err)
	assert.EqualError(t, err, `task "x" is being created or deleted by another request that has not finished; try again in 20 seconds`)
	assert.LessOrEqual(t, time.time.Sub(start), etcd2.MaxClaimTime)
	assert.Equal(t, before, keysOf(t, fake, registryKey))
	reconcile(t, registry, time)
	require.NoError(t, registry.CreateTask("m2", makeTask("x")))
	requireConsistent(t, fake)
}

// A task that another program writes while its id is claimed wins.
func TestAClaimGivesWayToAForeignTask(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	foreign := makeTask("x", 80)
	registry, _ := patientless(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		if method == "Create" && key == indexEntryKey("x") {
			put(t, fake, taskKey("m2", "x"), foreign)
		}
		return call()
	}})
	require.NoError(t, registry.CreateTask("m", makeTask("beside", 90)))
	requireKind(t, api.AlreadyExists, registry.CreateTask("m", makeTask("x", 82)))
	got, err := unhurried(fake).GetTask("x")
	require.NoError(t, err)
	assert.Equal(t, on("m2", foreign), *bare(got))
	require.NoError(t, registry.DeleteTask("x"))
}

// What a request left behind is repaired when it has not changed for the grace.
func TestReconcileDeletesAnOrphanedClaim(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, time := patientless(fake)
	_, err := fake.Create(indexEntryKey("x"), "m", 0)
	require.NoError(t, err)
	require.NoError(t, registry.Reconcile())
	time.time = time.time.Add(etcd2.Grace - 1)
	require.NoError(t, registry.Reconcile())
	assert.Len(t, keysOf(t, fake, indexKey), 1)
	time.time = time.time.Add(1)
	require.NoError(t, registry.Reconcile())
	assert.Empty(t, keysOf(t, fake, indexKey))
}

// A running create or delete looks half done, but must not be repaired.
func TestReconcileLeavesAloneWhatIsStillChanging(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, time := patientless(fake)
	for range 5 { // another request each time, seen in the middle each time
		release, err := registry.store.Claim("m", "x")
		require.NoError(t, err)
		require.NoError(t, registry.Reconcile())
		time.time = time.time.Add(etcd2.Grace - 1)
		require.NoError(t, registry.Reconcile())
		assert.Len(t, keysOf(t, fake, indexKey), 1)
		release()
		assert.Empty(t, keysOf(t, fake, indexKey))
	}
}

// On a slow etcd a request makes no further call after half of its time; what it
// has begun is repaired later.
func TestARequestOnASlowEtcdGivesUpInTime(t *testing.T) {
	t.Parallel()
	for name, op := range operations() {
		gaveUp := map[time.Duration]bool{}
		for _, slow := range []time.Duration{100, 900, 1300, 2300} { // milliseconds for one call
			slow *= time.Millisecond
			t.Run(fmt.Sprintf("%s, %v", name, slow), func(t *testing.T) {
				faults := stage(t, op)
				registry, clock := patientless(faults)
				before := subject(t, registry)
				start := clock.time
				registry.store.SetClient(&etcdtest.Around{Client: faults, Do: func(_, _ string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
					clock.time = clock.time.Add(slow)
					return call()
				}})
				err := op.run(registry)
				assert.LessOrEqual(t, clock.time.Sub(start), 5*time.Second)
				if gaveUp[slow] = err != nil; gaveUp[slow] {
					requireKind(t, api.Unavailable, err)
					assert.Contains(t, err.Error(), "the store is")
				}
				registry.store.SetClient(faults)
				reconcile(t, registry, clock)
				requireConsistent(t, faults)
				switch {
				case err == nil:
					assert.Equal(t, op.after, subject(t, registry))
				case op.after != nil:
					assert.Equal(t, before, subject(t, registry))
				}
			})
		}
		assert.False(t, gaveUp[100*time.Millisecond], name)
		inTime := name == "create an unbound pod" || name == "update an unbound pod" // two calls are
		assert.Equal(t, !inTime, gaveUp[2300*time.Millisecond], name)
	}
	assert.Less(t, etcd2.MaxRequestTime, etcd2.ClaimPatience, "who takes a claim over knows that its request has ended")
}

func TestATaskOnTwoMachinesIsLeftToItsOwner(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, time := patientless(fake)
	for _, machine := range []string{"m1", "m2"} {
		put(t, fake, taskKey(machine, "x"), makeTask("x"))
	}
	reconcile(t, registry, time)
	tasks, err := registry.ListTasks(nil)
	require.NoError(t, err)
	assert.Equal(t, []api.Task{on("m1", makeTask("x")), on("m2", makeTask("x"))}, bareTasks(tasks))
}

// A value that cannot be decoded is left out of lists; GET names its key.
func TestValuesThatAreNotJSON(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry, time := patientless(client)
		require.NoError(t, registry.CreateTask("m1", makeTask("good", 80)))
		require.NoError(t, registry.CreateController(makeController("good", 1)))
		require.NoError(t, registry.CreateService(makeService("good", 1)))
		for _, key := range []string{taskKey("m1", "bad"), controllerKey("bad"), specKey("bad"), endpointKey("good"), kubeletKey("m2")} {
			_, err := client.Set(key, "<html>", 0)
			require.NoError(t, err)
		}
		_, err := client.Create(indexEntryKey("bad"), "m1", 0)
		require.NoError(t, err)
		_, err = client.Create(specsKey+"/directory/key", "1", 0)
		require.NoError(t, err)
		_, err = client.Create(kubeletKey("m3"), `[7]`, 0)
		require.NoError(t, err)

		tasks, err := registry.ListTasks(nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"good"}, taskIDs(tasks))
		controllers, err := registry.ListControllers()
		require.NoError(t, err)
		assert.Len(t, controllers, 1)
		services, endpoints := registry.servicesAndEndpoints(t)
		assert.Len(t, services, 1)
		assert.Empty(t, endpoints)

		_, err = registry.GetTask("bad")
		requireKind(t, api.Internal, err)
		assert.EqualError(t, err, "the stored task (key /registry/hosts/m1/tasks/bad) cannot be decoded")
		_, err = registry.GetController("bad")
		assert.EqualError(t, err, "the stored replication controller (key /registry/controllers/bad) cannot be decoded")
		_, err = registry.GetService("bad")
		assert.EqualError(t, err, "the stored service (key /registry/services/specs/bad) cannot be decoded")
		_, err = registry.GetService("directory")
		assert.EqualError(t, err, "the stored service (key /registry/services/specs/directory) is a directory")
		requireKind(t, api.Internal, registry.UpdateTask(makeTask("bad")))

		err = registry.CreateTask("m2", makeTask("x"))
		assert.EqualError(t, err, "the stored list of manifests (key /registry/hosts/m2/kubelet) cannot be decoded")
		err = registry.CreateTask("m3", makeTask("x"))
		assert.EqualError(t, err, "the stored list of manifests (key /registry/hosts/m3/kubelet) cannot be decoded")
		require.NoError(t, registry.CreateTask("m1", makeTask("x")), "a failed create leaves no claim")

		reconcile(t, registry, time)
		require.NoError(t, registry.DeleteTask("bad"))
		require.NoError(t, syncEndpoints(registry))
		assert.JSONEq(t, `{"Name":"good","Endpoints":[]}`, keysOf(t, client, servicesKey)[endpointKey("good")], "what is broken is written anew")
	})
}

// D27: each failure of etcd becomes the right kind of error.
func TestD27FailuresOfEtcdHaveTheirKind(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		err  error
		kind api.ErrorKind
		text string
	}{
		"the way to etcd":  {etcdtest.ErrLost, api.Unavailable, "list tasks: the store cannot be reached"},
		"no leader":        {&etcd.EtcdError{ErrorCode: 301, Message: "During Leader Election"}, api.Unavailable, "list tasks: the store cannot be reached"},
		"anything else":    {&etcd.EtcdError{ErrorCode: 107, Message: "Root is read only"}, api.Internal, "list tasks: etcd refused the request: Root is read only"},
		"a missing folder": {&etcd.EtcdError{ErrorCode: etcdtest.KeyNotFound}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := &etcdtest.Around{Do: func(string, string, func() (*etcd.Response, error)) (*etcd.Response, error) { return nil, row.err }}
			registry := unhurried(broken)
			_, err := registry.ListTasks(nil)
			if row.kind == "" {
				assert.NoError(t, err)
				_, err = registry.Healthz()
				assert.NoError(t, err)
				return
			}
			requireKind(t, row.kind, err)
			assert.EqualError(t, err, row.text)
			operations := []error{
				registry.CreateTask("m", makeTask("x")), registry.UpdateTask(makeTask("x")), registry.DeleteTask("x"),
				registry.CreateController(makeController("x", 1)), registry.UpdateController(makeController("x", 1)), registry.DeleteController("x"),
				registry.CreateService(makeService("x", 1)), registry.UpdateService(makeService("x", 1)), registry.DeleteService("x"),
				registry.UpdateEndpoints(api.Endpoints{Name: "x"}), registry.Reconcile(),
			}
			_, err = registry.Healthz()
			operations = append(operations, err)
			_, err = registry.GetTask("x")
			operations = append(operations, err)
			_, err = registry.ListControllers()
			operations = append(operations, err)
			_, err = registry.ListServices()
			operations = append(operations, err)
			_, err = registry.store.List(storage.Selection{Kind: api.EndpointsKind})
			operations = append(operations, err)
			for _, err := range operations {
				requireKind(t, row.kind, err)
			}
		})
	}
}

// apiservers makes two apiservers' task storages on one etcd.
func apiservers(client etcdtest.Client, machines []string, scheduler string) []restStorage {
	var storages []restStorage
	for range 2 {
		registry := unhurried(client)
		storages = append(storages, patient{storageOf(registry, schedulersOver(machines, registry)[scheduler])})
	}
	return storages
}

// D6: of concurrent creates of one id one wins, through two apiservers, whatever
// machines they choose.
func TestD6OneIDIsGivenOnceInTheCluster(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		for _, scheduler := range []string{"first fit", "random", "round robin"} {
			storages := apiservers(client, machineNames(8), scheduler)
			id := strings.ReplaceAll(scheduler, " ", "-")
			var won atomic.Int32
			var work []func()
			for i := range 32 {
				work = append(work, func() {
					if err := storages[i%2].Create(makeTask(id, 80)); err == nil {
						won.Add(1)
					} else {
						assert.Equal(t, api.AlreadyExists, api.KindOf(err), err.Error())
					}
				})
			}
			inParallel(work)
			assert.EqualValues(t, 1, won.Load(), scheduler)
			require.NoError(t, storages[0].Delete(id))
		}
		requireConsistent(t, client)
	})
}

func TestTwoApiserversShareNoHostPort(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		for _, scheduler := range []string{"first fit", "random", "round robin"} {
			// 5 machines × 4 host ports, for 60 tasks.
			storages := apiservers(client, machineNames(5), scheduler)
			var placed atomic.Int32
			var work []func()
			id := func(i int) string { return fmt.Sprintf("%s-%d", strings.ReplaceAll(scheduler, " ", "-"), i) }
			for i := range 60 {
				work = append(work, func() {
					if err := storages[i%2].Create(makeTask(id(i), 8000+i%4)); err == nil {
						placed.Add(1)
					} else {
						assert.Equal(t, api.Conflict, api.KindOf(err), err.Error())
					}
				})
			}
			inParallel(work)
			assert.EqualValues(t, 20, placed.Load(), scheduler)
			requireConsistent(t, client)
			for i := range 60 {
				if err := storages[i%2].Delete(id(i)); err != nil {
					requireKind(t, api.NotFound, err)
				}
			}
		}
	})
}

func TestATaskThatIsDeletedCanBeMadeAgainAtOnce(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		for _, scheduler := range []string{"first fit", "round robin"} {
			storages := apiservers(client, machineNames(1), scheduler)
			for i := range 6 {
				require.NoError(t, storages[i%2].Create(makeTask("x", 80)))
				_, err := storages[0].List(nil) // what it sees is soon stale
				require.NoError(t, err)
				require.NoError(t, storages[(i+1)%2].Delete("x"))
			}
		}
		requireConsistent(t, client)
	})
}

// Creates, updates and deletes of the same few tasks through two apiservers.
func TestConcurrentChangesLeaveNothingHalfDone(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		storages := apiservers(client, machineNames(2), "first fit")
		var work []func()
		for i := range 8 {
			work = append(work, func() {
				for round := range 12 {
					id := fmt.Sprintf("task-%d", (i+round)%3)
					storage := storages[(i+round)%2]
					for _, err := range []error{
						storage.Create(makeTask(id, 80+i)),
						storage.Update(makeTask(id, 90+round)),
						storage.Delete(id),
					} {
						if err != nil {
							assert.Contains(t, []api.ErrorKind{api.AlreadyExists, api.NotFound, api.HostPortTaken, api.Conflict}, api.KindOf(err), api.InFull(err))
						}
					}
				}
			})
		}
		inParallel(work)
		requireConsistent(t, client)
	})
}

// Requests for one machine that wait for another one to write are written
// together.
func TestChangesThatWaitAreWrittenInOneSwap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var swaps atomic.Int32
		slow := &etcdtest.Around{Client: etcdtest.NewFake(), Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			if key == kubeletKey("m") {
				time.Sleep(100 * time.Millisecond) // the bubble's clock: it takes no time
				swaps.Add(1)
			}
			return call()
		}}
		registry := makeRegistry(slow)
		var group sync.WaitGroup
		var placed atomic.Int32
		for i := range 60 {
			group.Go(func() {
				err := registry.CreateTask("m", makeTask(fmt.Sprintf("task-%d", i), 1000+i/2)) // each port is wanted twice
				if err == nil {
					placed.Add(1)
				} else {
					assert.Equal(t, api.HostPortTaken, api.KindOf(err), err.Error())
				}
			})
		}
		group.Wait()
		assert.EqualValues(t, 30, placed.Load())
		assert.LessOrEqual(t, swaps.Load(), int32(5))
		requireConsistent(t, slow)
	})
}

func TestARequestDoesNotWaitForOthersForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		fake := etcdtest.NewFake()
		registry := makeRegistry(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			if key == kubeletKey("m") {
				<-release
			}
			return call()
		}})
		first := make(chan error, 1)
		go func() { first <- registry.CreateTask("m", makeTask("first")) }()
		synctest.Wait()
		start := time.Now()
		requireKind(t, api.Unavailable, registry.CreateTask("m", makeTask("second")))
		assert.Equal(t, etcd2.WriterPatience, time.Since(start))
		close(release)
		require.NoError(t, <-first)
		_, err := registry.GetTask("second")
		requireKind(t, api.NotFound, err)
	})
}

// callsOf counts the calls to etcd of one request.
func callsOf(t *testing.T, faults *etcdtest.Faults, request func() error) int {
	faults.Heal()
	require.NoError(t, request())
	return len(faults.Calls())
}

// The cost of a request does not grow with machines or tasks.
func TestCostInCallsToEtcd(t *testing.T) {
	t.Parallel()
	for _, machines := range []int{2, 60} {
		for _, scheduler := range []string{"first fit", "random", "round robin"} {
			t.Run(fmt.Sprintf("%d machines, %s", machines, scheduler), func(t *testing.T) {
				t.Parallel()
				faults := etcdtest.NewFaults(etcdtest.NewFake())
				registry := unhurried(faults)
				names := machineNames(machines)
				for i := range 2 * machines {
					require.NoError(t, registry.CreateTask(names[i%machines], makeTask(fmt.Sprintf("old-%03d", i), 8000+i)))
				}
				tasks := storageOf(registry, schedulersOver(names, registry)[scheduler])
				controllers, services := registry.storages()
				get := func(storage restStorage, id string) func() error {
					return func() error { _, err := storage.Get(id); return err }
				}
				list := func(storage restStorage) func() error {
					return func() error { _, err := storage.List(nil); return err }
				}
				for _, row := range []struct {
					name    string
					request func() error
					cost    int
				}{
					{"create task", func() error { return tasks.Create(makeTask("new", 80)) }, 4},
					{"get task", get(tasks, "new"), 1},
					{"update task", func() error { return tasks.Update(makeTask("new", 81)) }, 3},
					{"delete task", func() error { return tasks.Delete("new") }, 4},
					{"list tasks", list(tasks), 1},
					{"create controller", func() error { return controllers.Create(makeController("c", 1)) }, 1},
					{"get controller", get(controllers, "c"), 1},
					{"update controller", func() error { return controllers.Update(makeController("c", 2)) }, 2},
					{"list controllers", list(controllers), 1},
					{"delete controller", func() error { return controllers.Delete("c") }, 1},
					{"create service", func() error { return services.Create(makeService("s", 1)) }, 1},
					{"get service", get(services, "s"), 1},
					{"update service", func() error { return services.Update(makeService("s", 2)) }, 2},
					{"list services", list(services), 1},
					{"sync a new service", func() error { return syncEndpoints(registry) }, 2},
					{"sync without a change", func() error { return syncEndpoints(registry) }, 1},
					{"delete service", func() error { return services.Delete("s") }, 2},
					{"reconcile without a find", registry.Reconcile, 2},
				} {
					assert.Equal(t, row.cost, callsOf(t, faults, row.request), "%s: %v", row.name, faults.Calls())
				}
				for i := range 4 { // right after each other
					create := func() error { return tasks.Create(makeTask(fmt.Sprintf("row-%d", i), 90+i)) }
					assert.LessOrEqual(t, callsOf(t, faults, create), 5, "%v", faults.Calls())
				}
				others := func(i int) { // another program writes
					put(t, faults.Client, controllerKey("other"), makeController("other", i))
				}
				others(1)
				assert.Equal(t, 2, callsOf(t, faults, list(tasks)), "%v", faults.Calls())
				others(2)
				create := func() error { return tasks.Create(makeTask("last", 100)) }
				assert.LessOrEqual(t, callsOf(t, faults, create), 5, "%v", faults.Calls())
				others(3)
				for range 3 {
					assert.LessOrEqual(t, callsOf(t, faults, get(tasks, "last")), 2, "%v", faults.Calls())
				}
				_, err := tasks.Get("nope")
				requireKind(t, api.NotFound, err)
			})
		}
	}
}

// Nor does it grow when other programs write, with index keys or without.
func TestCostInCallsToEtcdBesideOthers(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	faults := etcdtest.NewFaults(fake)
	registry, other := unhurried(faults), unhurried(fake)
	for i := range 20 {
		require.NoError(t, registry.CreateTask("m1", makeTask(fmt.Sprintf("old-%d", i), 8000+i)))
	}
	get := func(id string) func() error {
		return func() error { _, err := registry.GetTask(id); return err }
	}
	gone := func(request func() error) func() error {
		return func() error { requireKind(t, api.NotFound, request()); return nil }
	}
	list := func() error { _, err := registry.ListTasks(nil); return err }
	foreign := func(id string) func() error {
		return func() error { put(t, fake, taskKey("m1", id), makeTask(id, 90)); return nil }
	}
	for _, row := range []struct {
		name    string
		others  func() error
		request func() error
		most    int
	}{
		{"GET of one that was created", func() error { return other.CreateTask("m1", makeTask("x", 80)) }, get("x"), 2},
		{"GET of one that was updated", func() error { return other.UpdateTask(makeTask("old-1", 81)) }, get("old-1"), 2},
		{"GET again, with no write between", nil, get("old-1"), 1},
		{"GET of one that is nowhere", nil, gone(get("nope")), 2},
		{"list", func() error { return other.UpdateTask(makeTask("old-1", 82)) }, list, 2},
		{"list again", nil, list, 1},
		{"GET of one that was deleted", func() error { return other.DeleteTask("old-2") }, gone(get("old-2")), 3},
		{"GET again of one that was deleted", nil, gone(get("old-2")), 1},
		{"PUT", func() error { return other.UpdateTask(makeTask("old-3", 83)) }, func() error { return registry.UpdateTask(makeTask("old-3", 84)) }, 5},
		{"DELETE", func() error { return other.UpdateTask(makeTask("old-3", 83)) }, func() error { return registry.DeleteTask("old-3") }, 5},
		{"GET of a foreign task", foreign("f1"), get("f1"), 2},
		{"PUT of a foreign task", foreign("f2"), func() error { return registry.UpdateTask(makeTask("f2", 91)) }, 5},
		{"DELETE of a foreign task", foreign("f3"), func() error { return registry.DeleteTask("f3") }, 5},
	} {
		if row.others != nil {
			require.NoError(t, row.others(), row.name)
		}
		assert.LessOrEqual(t, callsOf(t, faults, row.request), row.most, "%s: %v", row.name, faults.Calls())
	}
}

// Machines whose host ports are taken are not asked one by one.
func TestAFullMachineCostsNoCallToEtcd(t *testing.T) {
	t.Parallel()
	for _, machines := range []int{2, 60} {
		for _, scheduler := range []string{"first fit", "random", "round robin"} {
			t.Run(fmt.Sprintf("%d machines, %s", machines, scheduler), func(t *testing.T) {
				t.Parallel()
				faults := etcdtest.NewFaults(etcdtest.NewFake())
				registry, names := unhurried(faults), machineNames(machines)
				last := names[machines-1]
				for _, machine := range names[:machines-1] {
					require.NoError(t, registry.CreateTask(machine, makeTask("on-"+machine, 80)))
				}
				tasks := storageOf(registry, schedulersOver(names, registry)[scheduler])
				fits := func() error { return tasks.Create(makeTask("fits", 80)) }
				assert.Equal(t, 4, callsOf(t, faults, fits), "%v", faults.Calls())
				task, err := registry.GetTask("fits")
				require.NoError(t, err)
				assert.Equal(t, last, task.CurrentState.Host)

				fitsNowhere := func() error {
					requireKind(t, api.Conflict, tasks.Create(makeTask("fits-nowhere", 80)))
					return nil
				}
				assert.Equal(t, 2, callsOf(t, faults, fitsNowhere), "%v", faults.Calls())
				put(t, faults.Client, controllerKey("other"), makeController("other", 1)) // another program writes
				assert.Equal(t, 3, callsOf(t, faults, fitsNowhere), "%v", faults.Calls())
				require.NoError(t, tasks.Delete("fits"))
				put(t, faults.Client, controllerKey("other"), makeController("other", 2))
				assert.Equal(t, 5, callsOf(t, faults, fits), "%v", faults.Calls())
			})
		}
	}
}

// If others change the list first each time, the request gives up in time.
func TestAChangeThatIsAlwaysTooLateGivesUp(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, time := patientless(fake)
	require.NoError(t, registry.CreateTask("m", makeTask("x", 80)))
	quicker := func(method, key string, every int) etcdtest.Client {
		times := 0
		return &etcdtest.Around{Client: fake, Do: func(called, at string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			if called == method && at == key {
				if times++; times%every != 0 {
					return call()
				}
				time.time = time.time.Add(etcd2.SwapTime / 10)
				node, err := fake.Get(key, false, false)
				require.NoError(t, err)
				_, err = fake.Set(key, node.Node.Value, 0)
				require.NoError(t, err)
			}
			return call()
		}}
	}
	registry.store.SetClient(quicker("CompareAndSwap", kubeletKey("m"), 1))
	err := registry.UpdateTask(makeTask("x", 81))
	requireKind(t, api.Unavailable, err)
	assert.EqualError(t, err, "the list of manifests of machine m could not be changed: other requests keep changing it, or the store is slow; try again")

	// The first call is the swap, the second fences the next one.
	for _, every := range []int{1, 2} {
		registry.store.SetClient(quicker("CompareAndSwap", taskKey("m", "x"), every))
		err = registry.UpdateTask(makeTask("x", 81))
		requireKind(t, api.Conflict, err)
		assert.EqualError(t, err, `task "x" is changed by too many others at once`)
	}

	registry.store.SetClient(fake)
	reconcile(t, registry, time)
	requireConsistent(t, fake)
	got, err := registry.GetTask("x")
	require.NoError(t, err)
	assert.Equal(t, on("m", makeTask("x", 80)), *bare(got))
}

// A delete that looks up the index key before a create writes it, and then finds
// the task, deletes the index key too.
func TestADeleteThatOvertakesACreateLeavesNoEntry(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry := unhurried(fake)
	created := false
	deleting := unhurried(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		resp, err := call()
		if method == "Get" && key == indexEntryKey("x") && !created {
			created = true
			require.NoError(t, registry.CreateTask("m", makeTask("x")))
		}
		return resp, err
	}})
	require.NoError(t, deleting.DeleteTask("x"))
	requireConsistent(t, fake)
	require.NoError(t, registry.CreateTask("m", makeTask("x")))
}

// A copy of a task on a machine that the index does not name gets no manifest,
// and its ports stay taken.
func TestAStrayCopyOfATaskGetsNoManifest(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, time := patientless(fake)
	require.NoError(t, registry.CreateTask("m2", makeTask("x", 80)))
	put(t, fake, taskKey("m1", "x"), makeTask("x", 81))
	reconcile(t, registry, time)
	assert.NotContains(t, keysOf(t, fake, hostsKey), kubeletKey("m1"))
	assert.Contains(t, keysOf(t, fake, hostsKey)[kubeletKey("m2")], `"id":"x"`)
	requireKind(t, api.HostPortTaken, registry.CreateTask("m1", makeTask("y", 81)))
}

// Reconcile gives no host port twice: a foreign task whose port is taken stays
// without a manifest, and is reported.
func TestReconcileGivesNoHostPortTwice(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, time := patientless(fake)
	require.NoError(t, registry.CreateTask("m", makeTask("x", 80)))
	put(t, fake, taskKey("m", "foreign"), makeTask("foreign", 80))
	require.NoError(t, registry.Reconcile())
	time.time = time.time.Add(etcd2.Grace)
	assert.ErrorContains(t, registry.Reconcile(), `task "foreign" needs host port 80, but on machine m task "x" has it`)
	assert.NotContains(t, keysOf(t, fake, hostsKey)[kubeletKey("m")], "foreign")
}

// A create that etcd refuses at its last write undoes the other two.
func TestACreateThatIsRefusedTakesBackWhatItWrote(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry := unhurried(&etcdtest.Around{Client: client, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			if method == "Create" && key == taskKey("m", "x") {
				return nil, &etcd.EtcdError{ErrorCode: 104, Message: "Not a directory", Cause: tasksKey("m")}
			}
			return call()
		}})
		requireKind(t, api.Internal, registry.CreateTask("m", makeTask("x", 80)))
		assert.Equal(t, "[]", keysOf(t, client, hostsKey)[kubeletKey("m")])
		assert.Empty(t, keysOf(t, client, indexKey))
	})
}

// Another program writes a task of the same id while ours is being created.
func TestACreateThatAForeignTaskOvertakesIsRefused(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"Create " + indexEntryKey("x"), "Create " + kubeletKey("m"), "Create " + taskKey("m", "x")} {
		fake := etcdtest.NewFake()
		registry, time := patientless(fake)
		registry.store.SetClient(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			if method+" "+key == before {
				put(t, fake, taskKey("m", "x"), makeTask("x", 90))
			}
			return call()
		}})
		requireKind(t, api.AlreadyExists, registry.CreateTask("m", makeTask("x", 80)))
		registry.store.SetClient(fake)
		got, err := registry.GetTask("x")
		require.NoError(t, err)
		assert.Equal(t, on("m", makeTask("x", 90)), *bare(got), before)
		reconcile(t, registry, time)
		requireConsistent(t, fake)
	}
}

// A key that should be a task's, but cannot be, is logged and left as it is.
func TestAKeyThatCannotBeATasksIsLeftAlone(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		put(t, client, taskKey("m", "dir")+"/below", makeTask("dir"))
		put(t, client, taskKey("m", "~odd"), makeTask("~odd"))
		before := keysOf(t, client, registryKey)
		registry, time := patientless(client)
		_, err := registry.GetTask("dir")
		requireKind(t, api.Internal, err)
		assert.EqualError(t, err, "the stored task (key "+taskKey("m", "dir")+") is a directory")
		requireKind(t, api.Internal, registry.UpdateTask(makeTask("dir")))
		requireKind(t, api.Internal, registry.DeleteTask("dir"))
		reconcile(t, registry, time)
		assert.Equal(t, before, keysOf(t, client, registryKey))
		assert.Empty(t, keysOf(t, client, indexKey))
	})
}

// A value that cannot be decoded is logged once, with its key. The test replaces
// the process's log, so it is not parallel.
func TestABadValueIsLoggedOnce(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	fake := etcdtest.NewFake()
	registry := unhurried(fake)
	for range 2 {
		_, err := fake.Set(taskKey("m", "bad"), "<html>", 0)
		require.NoError(t, err)
		for range 3 {
			_, err = registry.ListTasks(nil)
			require.NoError(t, err)
		}
	}
	assert.Equal(t, 2, strings.Count(logged.String(), "etcd key /registry/hosts/m/tasks/bad: the stored task"))
}

// Very many bad values neither fill the memory nor the log: the rest is logged later.
// The log is the process's: not parallel.
func TestVeryManyBadValuesDoNotFloodTheLog(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	registry := makeRegistry(etcdtest.NewFake())
	now := time.Unix(1400000000, 0)
	registry.SetClock(func() time.Time { return now }, nil)
	for range 3 {
		for i := range etcd2.MaxWarned + 200 {
			registry.store.Warn(fmt.Sprint("/k", i), 1, "bad")
		}
	}
	assert.Equal(t, etcd2.MaxWarned, strings.Count(logged.String(), "\n"))
	assert.Equal(t, etcd2.MaxWarned, registry.store.Warned())
	now = now.Add(etcd2.WarnPeriod)
	registry.store.Warn(fmt.Sprint("/k", etcd2.MaxWarned), 1, "a\nb")
	assert.Contains(t, logged.String(), fmt.Sprintf("etcd key /k%d: a?b\n", etcd2.MaxWarned))
	assert.Equal(t, 1, registry.store.Warned())
}

// An orphaned manifest is removed even if its id is used again on another
// machine, and the new task's manifest stays.
func TestAnOrphanedManifestOfAnEarlierTaskIsRemoved(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, time := patientless(fake)
	put(t, fake, kubeletKey("m1"), []api.ContainerManifest{{Id: "x"}})
	require.NoError(t, registry.CreateTask("m2", makeTask("x", 80)))
	reconcile(t, registry, time)
	requireConsistent(t, fake)
	assert.Equal(t, "[]", keysOf(t, fake, hostsKey)[kubeletKey("m1")])
}
