package etcd2_test

import (
	"fmt"
	"testing"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
)

func makePod(machine, id string, ports ...int) api.Task {
	return on(machine, asPod(makeTask(id, ports...)))
}

func commitOne(t *testing.T, registry *etcdRegistry, change storage.Change) *storage.Object {
	written, err := registry.store.Commit(change)
	require.NoError(t, err)
	return written[0]
}

// The keys of what June 2014 has are the original's, byte for byte; a pod beside them
// changes the list of its machine and nothing else.
func TestAPodHasAKeyOfItsOwnForGood(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry := unhurried(client)
		require.NoError(t, registry.CreateTask("m", makeTask("x", 80)))
		before := keysOf(t, client, registryKey)
		list := before[kubeletKey("m")]

		pod := makePod("", "subject", 81)
		pod.ObjectMeta = api.ObjectMeta{UID: "u", Annotations: map[string]string{"a": "b"}, Remainder: `{"new":[1]}`}
		require.NoError(t, registry.CreateTask("", pod))
		value := func(host string) string {
			return `{"id":"subject","desiredState":{"manifest":{"version":"","volumes":null,"containers":[{"image":"dockerfile/nginx","ports":[{"hostPort":81,"containerPort":80}]}]}},` +
				`"currentState":{"manifest":{"version":"","volumes":null,"containers":null}` + host + `},"v1":{"uid":"u","annotations":{"a":"b"},"remainder":{"new":[1]}}}`
		}
		before[podKey("subject")] = value("")
		assert.Equal(t, before, keysOf(t, client, registryKey))

		require.NoError(t, bind(registry, "m"))
		before[podKey("subject")] = value(`,"host":"m"`)
		after := keysOf(t, client, registryKey)
		assert.Contains(t, after[kubeletKey("m")], list[:len(list)-1]+`,{"version"`)
		before[kubeletKey("m")] = after[kubeletKey("m")]
		assert.Equal(t, before, after)
		assert.Equal(t, map[string]string{indexEntryKey("x"): "m", indexEntryKey("subject"): "pods/"}, keysOf(t, client, indexKey))
		requireConsistent(t, client)

		require.NoError(t, registry.DeleteTask("subject"))
		before[kubeletKey("m")] = list
		delete(before, podKey("subject"))
		assert.Equal(t, before, keysOf(t, client, registryKey))
		requireConsistent(t, client)
	})
}

func TestNodesAndEventsHaveKeysOfTheirOwn(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry := unhurried(client)
		labels := map[string]string{"zone": "a"}
		commitOne(t, registry, storage.Create(&api.Any{Kind: api.NodeKind, ID: "10.0.0.1", Labels: labels}))
		commitOne(t, registry, storage.Create(&api.Any{Kind: "events", ID: "x.1", ObjectMeta: api.ObjectMeta{Namespace: "default", Remainder: "{}"}}))
		assert.Equal(t, map[string]string{
			"/registry/minions/10.0.0.1": `{"id":"10.0.0.1","labels":{"zone":"a"}}`,
			"/registry/events/x.1":       `{"id":"x.1","v1":{"remainder":{}}}`,
		}, keysOf(t, client, registryKey))
	})
}

// Pods that another program wrote, with or without a machine, are like any other.
func TestPodsThatAnotherProgramWroteAreFound(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry, clock := patientless(client)
		put(t, client, podKey("a"), on("m1", makeTask("", 80)))
		put(t, client, podKey("b"), makeTask("b", 80))
		put(t, client, podKey("c"), on("m1", makeTask("c", 81)))
		for id, want := range map[string]api.Task{"a": makePod("m1", "a", 80), "b": makePod("", "b", 80)} {
			got, err := registry.GetTask(id)
			require.NoError(t, err)
			assert.Equal(t, want, *bare(got))
			requireKind(t, api.AlreadyExists, registry.CreateTask("m2", makeTask(id)))
			requireKind(t, api.AlreadyExists, registry.CreateTask("", makePod("", id)))
		}
		requireKind(t, api.HostPortTaken, registry.CreateTask("m1", makeTask("y", 80)))
		require.NoError(t, registry.UpdateTask(makeTask("a", 90)))
		require.NoError(t, registry.DeleteTask("c"))
		requireKind(t, api.NotFound, registry.DeleteTask("c"))

		reconcile(t, registry, clock)
		requireConsistent(t, client)
		assert.Equal(t, map[string]string{indexEntryKey("a"): "pods/m1", indexEntryKey("b"): "pods/"}, keysOf(t, client, indexKey))
		require.NoError(t, registry.DeleteTask("b"))
		require.NoError(t, registry.DeleteTask("a"))
		requireConsistent(t, client)
	})
}

// A task and a pod of the same id, which other programs wrote: the index key says which
// of them counts, and only that one has a manifest.
func TestATaskAndAPodOfOneIDAreLeftToTheirOwner(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ indexed, counts, port string }{
		"the index has the task": {"m", "m", "81"},
		"the index has the pod":  {"pods/m", "m", "82"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := etcdtest.NewFake()
			registry, clock := patientless(fake)
			put(t, fake, taskKey("m", "x"), makeTask("x", 81))
			put(t, fake, podKey("x"), on("m", makeTask("x", 82)))
			_, err := fake.Set(indexEntryKey("x"), row.indexed, 0)
			require.NoError(t, err)
			for range 2 {
				reconcile(t, registry, clock)
				assert.Contains(t, keysOf(t, fake, hostsKey)[kubeletKey("m")], `"ports":[{"hostPort":`+row.port)
				got, err := registry.GetTask("x")
				require.NoError(t, err)
				assert.Equal(t, row.port, fmt.Sprint(got.HostPorts()[0]))
				tasks, err := registry.ListTasks(nil)
				require.NoError(t, err)
				assert.Len(t, tasks, 2)
				for _, port := range []int{81, 82} {
					requireKind(t, api.HostPortTaken, registry.CreateTask("m", makeTask("thief", port)))
				}
			}
			require.NoError(t, registry.DeleteTask("x"))
			reconcile(t, registry, clock)
			requireConsistent(t, fake)
			tasks, err := registry.ListTasks(nil)
			require.NoError(t, err)
			require.Len(t, tasks, 1)
			assert.NotEqual(t, row.port, fmt.Sprint(tasks[0].HostPorts()[0]))
		})
	}
}

// badPods are values that are no pods.
var badPods = map[string]string{
	"no JSON":                          "<html>",
	"other types":                      `{"labels":7}`,
	"a last member of another type":    `{"id":"bad","v1":7}`,
	"a remainder of which too much is": `{"v1":{"remainder":` + deepTask + `}}`,
	"a machine that can be none":       `{"currentState":{"host":"a/b"}}`,
	"a machine that is hidden":         `{"currentState":{"host":"_m"}}`,
}

// D41: nobody knows which machine a pod has that cannot be decoded. Its manifest stays in
// the list, so its host ports are taken, and no machine is passed over.
func TestD41APodThatCannotBeDecodedKeepsItsManifest(t *testing.T) {
	t.Parallel()
	for name, value := range badPods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := etcdtest.NewFake()
			registry, clock := patientless(fake)
			require.NoError(t, registry.CreateTask("m1", makePod("m1", "bad", 80)))
			_, err := fake.Set(podKey("bad"), value, 0)
			require.NoError(t, err)
			before := keysOf(t, fake, registryKey)
			for range 2 {
				reconcile(t, registry, clock)
				require.Equal(t, before, keysOf(t, fake, registryKey))
			}
			_, err = registry.GetTask("bad")
			requireKind(t, api.Internal, err)
			assert.EqualError(t, err, "the stored task (key /registry/pods/bad) cannot be decoded")
			requireKind(t, api.Internal, registry.UpdateTask(makeTask("bad")))
			requireKind(t, api.AlreadyExists, registry.CreateTask("m1", makeTask("bad")))
			warnings, err := registry.Healthz()
			require.NoError(t, err)
			assert.Equal(t, []string{"the stored task (key /registry/pods/bad) cannot be decoded"}, warnings)

			storage := taskStorage(registry)
			for id, machine := range map[string]string{"a": "m2", "b": "m1"} {
				port := map[string]int{"m1": 81, "m2": 80}[machine]
				require.NoError(t, storage.Create(makeTask(id, port)))
				task, err := registry.GetTask(id)
				require.NoError(t, err)
				assert.Equal(t, machine, task.CurrentState.Host)
			}
			require.NoError(t, registry.DeleteTask("bad"))
			requireConsistent(t, fake)
			require.NoError(t, registry.CreateTask("m1", makeTask("bad", 80)))
		})
	}
}

func TestAKeyThatCannotBeAPodsIsLeftAlone(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		put(t, client, podKey("dir")+"/below", makeTask("dir"))
		put(t, client, podKey("~odd"), on("m", makeTask("~odd")))
		before := keysOf(t, client, registryKey)
		registry, clock := patientless(client)
		_, err := registry.GetTask("dir")
		assert.EqualError(t, err, "the stored task (key "+podKey("dir")+") is a directory")
		requireKind(t, api.Internal, registry.UpdateTask(makeTask("dir")))
		requireKind(t, api.Internal, registry.DeleteTask("dir"))
		reconcile(t, registry, clock)
		assert.Equal(t, before, keysOf(t, client, registryKey))
		assert.Empty(t, keysOf(t, client, indexKey))
	})
}

func TestCostOfPodsInCallsToEtcd(t *testing.T) {
	t.Parallel()
	faults := etcdtest.NewFaults(etcdtest.NewFake())
	registry := unhurried(faults)
	require.NoError(t, registry.CreateTask("m", makeTask("old", 90)))
	for _, row := range []struct {
		name    string
		request func() error
		cost    int
	}{
		{"create on a machine", func() error { return registry.CreateTask("m", makePod("m", "x", 80)) }, 3},
		{"update", func() error { return registry.UpdateTask(makeTask("x", 81)) }, 3},
		{"update of the labels", func() error { return registry.UpdateTask(labelled(makeTask("x", 81), map[string]string{"a": "b"})) }, 2},
		{"get", func() error { _, err := registry.GetTask("x"); return err }, 1},
		{"delete", func() error { return registry.DeleteTask("x") }, 4},
		{"create without a machine", func() error { return registry.CreateTask("", makePod("", "subject", 80)) }, 2},
		{"update without a machine", func() error { return registry.UpdateTask(makeTask("subject", 81)) }, 2},
		{"bind", func() error { return bind(registry, "m") }, 3},
		{"reconcile without a find", registry.Reconcile, 2},
		{"list", func() error { _, err := registry.ListTasks(nil); return err }, 1},
	} {
		assert.Equal(t, row.cost, callsOf(t, faults, row.request), "%s: %v", row.name, faults.Calls())
	}
}

// A host port of a pod whose update stopped half way, which is not in the mirror, is not
// given away: the list that was read has the manifest of a pod that must be looked up.
func TestAHalfUpdateOfAPodThatIsNotCachedKeepsItsHostPorts(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	other, registry := unhurried(fake), unhurried(fake)
	require.NoError(t, other.CreateTask("m", makeTask("y", 99)))
	listed(t, registry)
	swaps := 0
	registry.store.SetClient(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		if method+" "+key == "CompareAndSwap "+kubeletKey("m") && swaps == 0 {
			swaps++
			require.NoError(t, other.CreateTask("m", makePod("m", "subject", 82)))
			dying := unhurried(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
				if method+" "+key == "CompareAndSwap "+podKey("subject") {
					return nil, etcdtest.ErrLost
				}
				return call()
			}})
			require.Error(t, dying.UpdateTask(makeTask("subject", 83)))
		}
		return call()
	}})
	requireKind(t, api.HostPortTaken, registry.CreateTask("m", makeTask("new", 82)))
	assert.Equal(t, 1, swaps)
}

// A create of a pod without a machine has no manifest by which others know of its last
// call: its claim is left to Reconcile.
func TestTheClaimOfAnUnboundPodIsLeftToReconcile(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, clock := patientless(fake)
	_, err := fake.Create(indexEntryKey("x"), "pods/", 0)
	require.NoError(t, err)
	requireKind(t, api.Unavailable, registry.CreateTask("m", makeTask("x")))
	requireKind(t, api.Unavailable, registry.CreateTask("", makePod("", "x")))
	reconcile(t, registry, clock)
	require.NoError(t, registry.CreateTask("m", makeTask("x")))
	requireConsistent(t, fake)
}

// The claim of a pod on a machine is taken over like any other.
func TestTheClaimOfAPodOnAMachineIsTakenOver(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, clock := patientless(fake)
	_, err := fake.Create(indexEntryKey("x"), "pods/m1", 0)
	require.NoError(t, err)
	start := clock.time
	require.NoError(t, registry.CreateTask("", makePod("", "x")))
	assert.GreaterOrEqual(t, clock.time.Sub(start), etcd2.ClaimPatience)
	requireConsistent(t, fake)
}

// A machine's name goes into keys.
func TestAPodGetsNoMachineThatCannotBeOne(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry := unhurried(fake)
	require.NoError(t, registry.CreateTask("", makePod("", "subject", 80)))
	before := keysOf(t, fake, registryKey)
	for _, machine := range []string{"a/b", "_m", "..", "../services"} {
		requireKind(t, api.Internal, bind(registry, machine))
		requireKind(t, api.Internal, registry.CreateTask(machine, makePod(machine, "x", 80)))
	}
	requireKind(t, api.Internal, registry.CreateTask("", makeTask("x", 80)))
	assert.Equal(t, before, keysOf(t, fake, registryKey))
}

// Reconcile gives no host port twice to pods either.
func TestReconcileGivesNoHostPortTwiceToPods(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, clock := patientless(fake)
	require.NoError(t, registry.CreateTask("m", makePod("m", "x", 80)))
	put(t, fake, podKey("foreign"), on("m", makeTask("foreign", 80)))
	require.NoError(t, registry.Reconcile())
	clock.time = clock.time.Add(etcd2.Grace)
	assert.ErrorContains(t, registry.Reconcile(), `task "foreign" needs host port 80, but on machine m task "x" has it`)
	assert.NotContains(t, keysOf(t, fake, hostsKey)[kubeletKey("m")], "foreign")
}

// A pod may get the machine at the moment at which Reconcile takes the manifest of an
// earlier, unfinished binding to the same machine out of the list.
func TestReconcileDoesNotTakeTheManifestOfARunningBinding(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"Get " + podKey("subject"), "CompareAndSwap " + podKey("subject"), "CompareAndSwap " + kubeletKey("m")} {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			fake := etcdtest.NewFake()
			registry, clock := patientless(fake)
			require.NoError(t, registry.CreateTask("", makePod("", "subject", 80)))
			registry.store.SetClient(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
				if method+" "+key == "CompareAndSwap "+podKey("subject") {
					return nil, etcdtest.ErrLost
				}
				return call()
			}})
			requireKind(t, api.Unavailable, bind(registry, "m"))
			registry.store.SetClient(fake)
			require.NoError(t, registry.Reconcile())
			clock.time = clock.time.Add(etcd2.Grace)
			bound := 0
			registry.store.SetClient(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
				if method+" "+key == before && bound == 0 {
					bound++
					require.NoError(t, bind(unhurried(fake), "m"))
				}
				return call()
			}})
			require.NoError(t, registry.Reconcile())
			require.Equal(t, 1, bound)
			requireConsistent(t, fake)
		})
	}
}

// Who changes a pod without a machine may go on from the version that it has written,
// although a binding, which lost to it, has left a manifest.
func TestABindingThatLosesToAnUpdateChangesNothing(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	other, clock := patientless(fake)
	require.NoError(t, other.CreateTask("", makePod("", "subject", 80)))
	created, err := other.store.Get(api.DefaultKey(api.TaskKind, "subject"))
	require.NoError(t, err)
	var updated *storage.Object
	registry := unhurried(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		if method+" "+key == "CompareAndSwap "+podKey("subject") {
			pod := labelled(makePod("", "subject", 80), map[string]string{"a": "b"})
			updated = commitOne(t, other, storage.Update(&pod, created.Version()))
		}
		return call()
	}})
	pod := makePod("m", "subject", 80)
	_, err = registry.store.Commit(storage.Update(&pod, created.Version()))
	requireKind(t, api.Conflict, err)
	found, err := other.store.Get(api.DefaultKey(api.TaskKind, "subject"))
	require.NoError(t, err)
	assert.Equal(t, updated.Version(), found.Version())
	reconcile(t, other, clock)
	requireConsistent(t, fake)
	require.NoError(t, bind(other, "m2"))
	requireConsistent(t, fake)
}

// D41: the same if the pod becomes undecodable while Reconcile is at work.
func TestD41ReconcileLeavesTheManifestOfAPodThatHasBecomeUndecodable(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, clock := patientless(fake)
	put(t, fake, kubeletKey("m"), []api.ContainerManifest{{Id: "bad"}})
	before := keysOf(t, fake, hostsKey)
	require.NoError(t, registry.Reconcile())
	clock.time = clock.time.Add(etcd2.Grace)
	written := false
	registry.store.SetClient(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		if method+" "+key == "Get "+hostKey("m") && !written {
			written = true
			put(t, fake, podKey("bad"), "no pod")
		}
		return call()
	}})
	require.NoError(t, registry.Reconcile())
	require.True(t, written)
	assert.Equal(t, before, keysOf(t, fake, hostsKey))
}

// The same if the binding ends while Reconcile, in the same process, looks at the list that
// it has read before.
func TestReconcileSeesABindingThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	registry, clock := patientless(fake)
	require.NoError(t, registry.CreateTask("", makePod("", "subject", 80)))
	reached, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	bindings, looks := 0, 0
	registry.store.SetClient(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		switch method + " " + key {
		case "CompareAndSwap " + podKey("subject"):
			if bindings++; bindings == 1 {
				return nil, etcdtest.ErrLost
			}
			close(reached)
			<-goOn
		case "Get " + indexEntryKey("subject"):
			if looks++; looks == 1 {
				close(goOn)
				require.NoError(t, <-done)
			}
		}
		return call()
	}})
	requireKind(t, api.Unavailable, bind(registry, "m"))
	require.NoError(t, registry.Reconcile())
	clock.time = clock.time.Add(etcd2.Grace)
	go func() { done <- bind(registry, "m") }()
	<-reached
	require.NoError(t, registry.Reconcile())
	require.Equal(t, 1, looks)
	requireConsistent(t, fake)
}
