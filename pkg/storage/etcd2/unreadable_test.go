package etcd2_test

import (
	"bytes"
	"log"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
)

// deepTask is 56 KB that would be 140 MB when indented.
var deepTask = `{"currentState":{"info":` + strings.Repeat("[", 2000) + "1" + strings.Repeat(",1", 18000) + strings.Repeat("]", 2000) + "}}"

// badMachines are the ways in which another program can make a machine m1
// unreadable: what it writes, and the key that is to be named.
var badMachines = map[string]struct{ written, value, named string }{
	"a list of manifests that is no JSON":       {kubeletKey("m1"), "broken", kubeletKey("m1")},
	"a list of something else":                  {kubeletKey("m1"), "[7]", kubeletKey("m1")},
	"a list that is an object":                  {kubeletKey("m1"), "{}", kubeletKey("m1")},
	"a directory in the place of the list":      {kubeletKey("m1") + "/below", "[]", kubeletKey("m1")},
	"a task that is no JSON":                    {taskKey("m1", "bad"), "<html>", taskKey("m1", "bad")},
	"a task of other types":                     {taskKey("m1", "bad"), `{"labels":7}`, taskKey("m1", "bad")},
	"a directory in the place of a task":        {taskKey("m1", "bad") + "/below", "{}", taskKey("m1", "bad")},
	"a task too deep to be answered (D33)":      {taskKey("m1", "bad"), deepTask, taskKey("m1", "bad")},
	"a value in the place of the tasks":         {tasksKey("m1"), "broken", tasksKey("m1")},
	"a value in the place of the machine's own": {hostKey("m1"), "broken", hostKey("m1")},
}

// D41: a machine whose keys cannot be read is passed over, with every scheduler;
// nothing else is affected, and all is well when the key is repaired.
func TestD41AMachineThatCannotBeReadIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, bad := range badMachines {
		t.Run(name, func(t *testing.T) {
			onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
				registry := unhurried(client)
				require.NoError(t, registry.CreateTask("m2", labelled(makeTask("old", 80), map[string]string{"name": "web"})))
				require.NoError(t, registry.CreateService(selecting("web", map[string]string{"name": "web"})))
				_, err := client.Create(bad.written, bad.value, 0)
				require.NoError(t, err)

				machines := []string{"m1", "m2"}
				for scheduler, s := range schedulersOver(machines, registry) {
					storage := storageOf(registry, s)
					for i, id := range []string{"a", "b"} {
						require.NoError(t, storage.Create(makeTask(id, 81+i)), scheduler)
						task, err := registry.GetTask(id)
						require.NoError(t, err)
						assert.Equal(t, "m2", task.CurrentState.Host, scheduler)
						require.NoError(t, storage.Update(makeTask(id, 91+i)))
						require.NoError(t, storage.Delete(id))
					}
				}
				require.NoError(t, syncEndpoints(registry))
				assert.JSONEq(t, `{"Name":"web","Endpoints":["m2:80"]}`, keysOf(t, client, servicesKey)[endpointKey("web")])
				tasks, err := registry.ListTasks(nil)
				require.NoError(t, err)
				assert.Equal(t, []string{"old"}, taskIDs(tasks))

				warnings, err := registry.Healthz()
				require.NoError(t, err)
				require.Len(t, warnings, 1)
				assert.Contains(t, warnings[0], "(key "+bad.named+")")

				// Where no other machine is free, the answer names the key, unless the id is taken.
				storage := taskStorage(registry)
				err = storage.Create(makeTask("new", 80))
				requireKind(t, api.Internal, err)
				assert.Contains(t, err.Error(), `no machine takes task "new": machine m1 is passed over, `)
				assert.Contains(t, err.Error(), "(key "+bad.named+")")
				requireKind(t, api.AlreadyExists, storage.Create(makeTask("old", 80)))
				assert.NotContains(t, keysOf(t, client, registryKey), indexEntryKey("new"))

				_, err = client.Delete(bad.named, true)
				require.NoError(t, err)
				warnings, err = registry.Healthz()
				require.NoError(t, err)
				assert.Empty(t, warnings)
				require.NoError(t, storage.Create(makeTask("new", 80)))
				task, err := registry.GetTask("new")
				require.NoError(t, err)
				assert.Equal(t, "m1", task.CurrentState.Host)
			})
		})
	}
}

// What belongs to no machine stops no task, and is named too.
func TestD41EveryUnreadableKeyIsNamed(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry := unhurried(client)
		require.NoError(t, registry.CreateService(makeService("good", 1)))
		require.NoError(t, registry.UpdateEndpoints(api.Endpoints{Name: "good"}))
		bad := []string{controllerKey("bad"), endpointKey("bad"), specKey("bad"), specKey("dir") + "/below"}
		for _, key := range bad {
			_, err := client.Create(key, `"a text"`, 0)
			require.NoError(t, err)
		}
		require.NoError(t, taskStorage(registry).Create(makeTask("x", 80)))
		warnings, err := registry.Healthz()
		require.NoError(t, err)
		assert.Equal(t, []string{
			"the stored replication controller (key /registry/controllers/bad) cannot be decoded",
			"the stored endpoints (key /registry/services/endpoints/bad) cannot be decoded",
			"the stored service (key /registry/services/specs/bad) cannot be decoded",
			"the stored service (key /registry/services/specs/dir) is a directory",
		}, warnings)

		// The apiserver's own writes repair what they overwrite.
		require.NoError(t, registry.UpdateController(makeController("bad", 1)))
		require.NoError(t, registry.UpdateService(makeService("bad", 1)))
		require.NoError(t, registry.UpdateEndpoints(api.Endpoints{Name: "bad"}))
		requireKind(t, api.Internal, registry.UpdateService(makeService("dir", 1)))
		warnings, err = registry.Healthz()
		require.NoError(t, err)
		assert.Equal(t, []string{"the stored service (key /registry/services/specs/dir) is a directory"}, warnings)
	})
}

func TestD41AValueInThePlaceOfADirectoryOfAllIsNamed(t *testing.T) {
	t.Parallel()
	for _, key := range []string{hostsKey, servicesKey, specsKey, endpointsKey, controllersKey, podsKey, "/registry/minions", "/registry/events"} {
		fake := etcdtest.NewFake()
		_, err := fake.Set(key, "broken", 0)
		require.NoError(t, err)
		warnings, err := unhurried(fake).Healthz()
		require.NoError(t, err)
		assert.Equal(t, []string{"a value is stored in the place of a directory (key " + key + ")"}, warnings)
	}
	fake := etcdtest.NewFake()
	_, err := fake.Set(registryKey, "broken", 0)
	require.NoError(t, err)
	registry := unhurried(fake)
	for range 2 { // nothing can be stored at all
		_, err = registry.Healthz()
		assert.EqualError(t, err, "health check: etcd refused the request: Not a directory (key /registry)")
	}
}

// A value in the place of the index stops all writes of tasks, is named wherever it
// does, and is not taken for tasks that the index has lost.
func TestD41AValueInThePlaceOfTheIndexIsNamed(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry, clock := patientless(client)
		require.NoError(t, registry.CreateTask("m1", makeTask("old", 80)))
		_, err := client.Delete(indexKey, true)
		require.NoError(t, err)
		_, err = client.Set(indexKey, "broken", 0)
		require.NoError(t, err)

		warnings, err := registry.Healthz()
		require.NoError(t, err)
		assert.Equal(t, []string{"a value is stored in the place of a directory (key /registry/_tasks)"}, warnings)
		for _, err := range []error{registry.CreateTask("m1", makeTask("new", 81)), registry.DeleteTask("old")} {
			requireKind(t, api.Internal, err)
			assert.Regexp(t, "etcd refused the request: Not a directory .key .*/registry/_tasks.$", err.Error())
		}
		reconcile(t, registry, clock)

		_, err = client.Delete(indexKey, false)
		require.NoError(t, err)
		warnings, err = registry.Healthz()
		require.NoError(t, err)
		assert.Empty(t, warnings)
		require.NoError(t, registry.CreateTask("m1", makeTask("new", 81)))
		require.NoError(t, registry.DeleteTask("old"))
	})
}

// A list that has grown as large as etcd takes does not keep tasks from other machines.
func TestD41AMachineWhoseListIsTooLargeIsPassedOver(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry := unhurried(&etcdtest.Around{Client: client, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			if method == "CompareAndSwap" && key == kubeletKey("m1") {
				return nil, &etcd.EtcdError{ErrorCode: 210, Message: "Invalid POST form", Cause: "http: POST too large"}
			}
			return call()
		}})
		require.NoError(t, registry.CreateTask("m1", makeTask("old", 80)))
		for scheduler, s := range schedulersOver([]string{"m1", "m2"}, registry) {
			storage := storageOf(registry, s)
			for _, id := range []string{"a", "b"} {
				require.NoError(t, storage.Create(makeTask(id)), scheduler)
				task, err := registry.GetTask(id)
				require.NoError(t, err)
				assert.Equal(t, "m2", task.CurrentState.Host, scheduler)
				require.NoError(t, storage.Delete(id))
			}
		}
		err := registry.CreateTask("m1", makeTask("new"))
		requireKind(t, api.HostPortTaken, err)
		assert.EqualError(t, err, "the list of manifests of machine m1 is too large for etcd")
		assert.NotContains(t, keysOf(t, client, registryKey), indexEntryKey("new"))
	})
}

func TestD41AMachineWhoseListIsTooLargeForOneTaskTakesSmallerOnes(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		var refuses atomic.Bool
		registry := unhurried(&etcdtest.Around{Client: client, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			if method == "CompareAndSwap" && key == kubeletKey("m1") && refuses.Load() {
				return nil, &etcd.EtcdError{ErrorCode: 210, Message: "Invalid POST form", Cause: "http: POST too large"}
			}
			return call()
		}})
		require.NoError(t, registry.CreateTask("m1", makeTask("old", 80)))
		storage := storageOf(registry, schedulersOver([]string{"m1"}, registry)["first fit"])
		large := func(id string) api.Task {
			task := makeTask(id, 81)
			task.DesiredState.Manifest.Containers[0].Image = strings.Repeat("x", 1000)
			return task
		}
		const why = "machine m1 is passed over, the list of manifests of machine m1 is too large for etcd"
		refuses.Store(true)
		assert.EqualError(t, storage.Create(large("a")), `no machine takes task "a": `+why)
		err := storage.Create(large("b"))
		requireKind(t, api.Conflict, err)
		assert.EqualError(t, err, `no machine takes task "b": `+why)
		requireKind(t, api.AlreadyExists, storage.Create(large("old")))
		refuses.Store(false)
		requireKind(t, api.Conflict, storage.Create(large("b")))
		require.NoError(t, storage.Create(makeTask("small", 82)))
		require.NoError(t, storage.Create(large("b")), "the list is another one")
	})
}

// What another program has put in the place of a service's endpoints does not keep
// the service.
func TestD41AServiceIsDeletedWhateverIsInThePlaceOfItsEndpoints(t *testing.T) {
	for name, key := range map[string]string{
		"a directory in their place":                endpointKey("s") + "/below",
		"a value in the place of all the services'": endpointsKey,
	} {
		t.Run(name, func(t *testing.T) {
			onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
				registry := unhurried(client)
				require.NoError(t, registry.CreateService(makeService("s", 1)))
				_, err := client.Create(key, "x", 0)
				require.NoError(t, err)
				require.NoError(t, registry.DeleteService("s"))
				requireKind(t, api.NotFound, registry.DeleteService("s"))
			})
		})
	}
}

// Whoever replaces a task that cannot be decoded gets to know that, whichever machine the
// new one is to be on, and etcd is not asked for anything else.
func TestD41ATaskThatCannotBeDecodedIsNotReplaced(t *testing.T) {
	t.Parallel()
	for _, machine := range []string{"m1", "m2"} {
		faults := etcdtest.NewFaults(etcdtest.NewFake())
		put(t, faults.Client, taskKey("m1", "x"), "broken")
		registry := unhurried(faults)
		task := on(machine, makeTask("x", 80))
		_, err := registry.store.Commit(storage.Update(&task, storage.Any))
		requireKind(t, api.Internal, err)
		assert.Contains(t, err.Error(), "the stored task (key /registry/hosts/m1/tasks/x) cannot be decoded")
		assert.Len(t, faults.Calls(), 1, faults.Calls())
	}
}

// Another program may give a key any name; an error stays one line of text.
func TestTheNameOfAnUnreadableKeyIsPrintableAndBounded(t *testing.T) {
	t.Parallel()
	evil := taskKey("m1", "a\nb\x1b"+strings.Repeat("i", 100000))
	_, stored := etcd2.DecodeOne(&etcd.Node{Key: evil, Value: "broken"}, "[]")
	err := stored.Err
	assert.Less(t, len(err.Error()), 600)
	assert.Contains(t, err.Error(), "/m1/tasks/a?b?iii")
}

// A manifest of another program may have any id, also one that leads to another key.
// The log is the process's: not parallel.
func TestAManifestWhoseIDIsNoneIsTakenOutOnce(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	fake := etcdtest.NewFake()
	registry, clock := patientless(fake)
	require.NoError(t, registry.CreateTask("m", makeTask("x", 80)))
	list := keysOf(t, fake, hostsKey)[kubeletKey("m")]
	_, err := fake.Set(kubeletKey("m"), `[null,{"id":".."},{"id":"../hosts"},{"id":"a\n`+strings.Repeat("b", 1000)+`"},`+list[1:], 0)
	require.NoError(t, err)
	reconcile(t, registry, clock)
	reconcile(t, registry, clock)
	assert.Equal(t, list, keysOf(t, fake, hostsKey)[kubeletKey("m")])
	assert.Equal(t, 4, strings.Count(logged.String(), "reconcile: repaired orphaned manifest: m"))
	assert.Contains(t, logged.String(), "m a?bbb")
	assert.Less(t, logged.Len(), 1000)
}

// The log is the process's: not parallel.
func TestD41APOSTLogsTheKeyOfTheMachineItPassesOver(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	fake := etcdtest.NewFake()
	_, err := fake.Set(kubeletKey("m1"), "broken", 0)
	require.NoError(t, err)
	storage := taskStorage(unhurried(fake))
	require.NoError(t, storage.Create(makeTask("a", 80)))
	require.NoError(t, storage.Create(makeTask("b", 81)))
	assert.Equal(t, 1, strings.Count(logged.String(), "etcd key /registry/hosts/m1/kubelet: "), logged.String())
}
