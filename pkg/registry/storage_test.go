package registry

import (
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/client/clienttest"
)

// storages makes the three storages over one memory registry, with two machines
// whose kubelets have no containers.
func storages() (*MemoryRegistry, map[string]apiserver.RESTStorage) {
	memory := MakeMemoryRegistry()
	return memory, map[string]apiserver.RESTStorage{
		"task":                   taskStorage(memory, clienttest.FakeContainerInfo{}),
		"replication controller": MakeControllerRegistryStorage(memory),
		"service":                MakeServiceRegistryStorage(memory),
	}
}

func taskStorage(registry TaskRegistry, info clienttest.FakeContainerInfo) apiserver.RESTStorage {
	return MakeTaskRegistryStorage(registry, info, MakeFirstFitScheduler([]string{"m1", "m2"}, registry))
}

// objects makes an object for each storage.
func objects(id string, labels map[string]string) map[string]interface{} {
	controller, service := makeController(id, 1), makeService(id, 1)
	controller.Labels, service.Labels = labels, labels
	return map[string]interface{}{"task": labelled(makeTask(id), labels), "replication controller": controller, "service": service}
}

func onEachStorage(t *testing.T, test func(t *testing.T, kind string, storage apiserver.RESTStorage)) {
	t.Parallel()
	_, all := storages()
	for kind, storage := range all {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind, storage)
		})
	}
}

func TestAnObjectGoesThroughItsStorage(t *testing.T) {
	onEachStorage(t, func(t *testing.T, kind string, storage apiserver.RESTStorage) {
		first, second := objects("x", map[string]string{"rev": "1"})[kind], objects("x", map[string]string{"rev": "2"})[kind]
		extracted, err := storage.Extract(answered(t, first))
		require.NoError(t, err)
		assert.Equal(t, first, extracted)
		require.NoError(t, storage.Create(extracted))
		assert.EqualError(t, storage.Create(extracted), fmt.Sprintf("%s %q already exists", kind, "x"))

		got, err := storage.Get("x")
		require.NoError(t, err)
		assert.Contains(t, answered(t, got), `"rev": "1"`)
		require.NoError(t, storage.Update(second))
		list, err := storage.List(&url.URL{})
		require.NoError(t, err)
		assert.Contains(t, answered(t, list), `"rev": "2"`)

		require.NoError(t, storage.Delete("x"))
		got, err = storage.Get("x")
		assert.EqualError(t, err, fmt.Sprintf("%s %q does not exist", kind, "x"))
		assert.True(t, got == nil, "no nil pointer hides in the interface")
		requireKind(t, api.NotFound, storage.Delete("x"))
	})
}

// answered returns the JSON of an answer.
func answered(t *testing.T, object interface{}) string {
	encoded, err := v1beta1.Codec.Encode(object)
	require.NoError(t, err)
	return string(encoded.Bytes())
}

// D34: labels filter every list.
func TestD34EveryResourceIsListedByLabels(t *testing.T) {
	onEachStorage(t, func(t *testing.T, kind string, storage apiserver.RESTStorage) {
		require.NoError(t, storage.Create(objects("a", map[string]string{"name": "web", "tier": "front"})[kind]))
		require.NoError(t, storage.Create(objects("b", map[string]string{"name": "web"})[kind]))
		require.NoError(t, storage.Create(objects("c", nil)[kind]))
		for query, want := range map[string][]bool{
			"":                               {true, true, true},
			"labels=":                        {true, true, true},
			"other=1":                        {true, true, true},
			"labels=name%3Dweb":              {true, true, false},
			"labels=name%3Dweb,tier%3Dfront": {true, false, false},
			"labels=name%3Dnobody":           {false, false, false},
		} {
			list, err := storage.List(&url.URL{RawQuery: query})
			require.NoError(t, err, query)
			json := answered(t, list)
			for i, id := range []string{"a", "b", "c"} {
				if want[i] {
					assert.Contains(t, json, `"id": "`+id+`"`, query)
				} else {
					assert.NotContains(t, json, `"id": "`+id+`"`, query)
				}
			}
		}
		all, err := storage.List(nil)
		require.NoError(t, err)
		assert.Contains(t, answered(t, all), `"id": "c"`)
	})
}

// D5: a malformed query does not match everything.
func TestD5AQueryThatIsNotUnderstoodIsRefused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, kind string, storage apiserver.RESTStorage) {
		for query, text := range map[string]string{
			"labels=name":               `labels: "name" is not of the form key=value`,
			"labels=a%3D1&labels=b%3D2": "labels: is given 2 times; give it once, with commas between the pairs",
			"labels=%zz":                `query: invalid URL escape "%zz"`,
			"labels=a%3D1;x=2":          "query: invalid semicolon separator in query",
		} {
			list, err := storage.List(&url.URL{RawQuery: query})
			require.EqualError(t, err, text)
			assert.Equal(t, api.Invalid, api.KindOf(err))
			assert.Nil(t, list)
		}
	})
}

// D8, D9, D10: what breaks a rule is refused and nothing is stored.
func TestD8D9D10BadObjectsAreRefused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, kind string, storage apiserver.RESTStorage) {
		_, err := storage.Extract("[]")
		assert.EqualError(t, err, "body: must be a JSON object")
		for _, id := range []string{"", "../x", "a/b"} {
			bad := objects(id, nil)[kind]
			requireKind(t, api.Invalid, storage.Create(bad))
			requireKind(t, api.Invalid, storage.Update(bad))
			_, err := storage.Get(id)
			requireKind(t, api.Invalid, err)
			requireKind(t, api.Invalid, storage.Delete(id))
		}
		list, err := storage.List(nil)
		require.NoError(t, err)
		assert.NotContains(t, answered(t, list), `"id"`)
	})
}

func TestAnObjectOfAnotherKindIsRefused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, kind string, storage apiserver.RESTStorage) {
		assert.ErrorContains(t, storage.Create("text"), "expected a "+kind+", got ")
		assert.ErrorContains(t, storage.Update(nil), "expected a "+kind+", got ")
	})
}

// D11: a task's current state in a request is dropped.
func TestD11CurrentStateOfAClientIsDropped(t *testing.T) {
	t.Parallel()
	_, all := storages()
	storage := all["task"]
	const spoof = `{"id": "x", "currentState": {"host": "elsewhere", "status": "Running", "info": {"a": 1}}}`
	extracted, err := storage.Extract(spoof)
	require.NoError(t, err)
	assert.Equal(t, api.TaskState{}, extracted.(api.Task).CurrentState)
	require.NoError(t, storage.Create(extracted))
	require.NoError(t, storage.Update(extracted))
	got, err := storage.Get("x")
	require.NoError(t, err)
	assert.Equal(t, api.TaskState{Host: "m1"}, answeredTask(got).CurrentState)
}

// D7: a task that fits nowhere is an error. If its id is taken too, that is the
// reason given.
func TestD7ATaskThatFitsNowhereIsAConflict(t *testing.T) {
	t.Parallel()
	_, all := storages()
	storage := all["task"]
	require.NoError(t, storage.Create(makeTask("a", 80)))
	require.NoError(t, storage.Create(makeTask("b", 80)))
	err := storage.Create(makeTask("c", 80))
	requireKind(t, api.Conflict, err)
	assert.EqualError(t, err, `no machine has the host ports of task "c" free`)
	assert.EqualError(t, storage.Create(makeTask("a", 80)), `task "a" already exists`)
	_, err = storage.Get("c")
	requireKind(t, api.NotFound, err)
}

func TestD7AFailingSchedulerOrRegistryIsReported(t *testing.T) {
	t.Parallel()
	storage := MakeTaskRegistryStorage(away(), nil, MakeFirstFitScheduler([]string{"m"}, away()))
	requireKind(t, api.Unavailable, storage.Create(makeTask("x", 1)))
	_, err := storage.List(nil)
	requireKind(t, api.Unavailable, err)
}

// stubborn is a Scheduler that has one answer. It counts how often it is asked.
type stubborn struct {
	machine string
	asked   int
}

func (s *stubborn) Schedule(api.Task) (string, error) {
	s.asked++
	return s.machine, nil
}

func TestASchedulerThatChoosesTheSameMachineIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	scheduler := &stubborn{machine: "m"}
	storage := MakeTaskRegistryStorage(MakeMemoryRegistry(), nil, scheduler)
	require.NoError(t, storage.Create(makeTask("a", 80)))
	assert.Equal(t, 1, scheduler.asked)
	requireKind(t, api.HostPortTaken, storage.Create(makeTask("b", 80)))
	assert.Equal(t, 1+maxRefusals, scheduler.asked)
}

// A scheduler without a registry does not look at host ports, as in the original.
func TestTheRegistryDecidesWhateverTheSchedulerChooses(t *testing.T) {
	t.Parallel()
	machines := machineNames(5)
	registry := MakeMemoryRegistry()
	storage := MakeTaskRegistryStorage(registry, nil, MakeRoundRobinScheduler(machines))
	var hosts []string
	for i := range machines {
		id := fmt.Sprint("task-", i)
		require.NoError(t, storage.Create(makeTask(id, 80)))
		task, err := registry.GetTask(id)
		require.NoError(t, err)
		hosts = append(hosts, task.CurrentState.Host)
	}
	assert.Equal(t, machines, hosts)
	require.NoError(t, storage.Delete("task-3"))
	require.NoError(t, storage.Create(makeTask("again", 80)), "the scheduler is asked until it has found it")
	err := storage.Create(makeTask("one-more", 80))
	requireKind(t, api.HostPortTaken, err)
	assert.Contains(t, err.Error(), `task "one-more" needs host port 80, but on machine `)
}

// refusing is a registry that takes a while to refuse a task.
type refusing struct {
	*MemoryRegistry
	clock *clock
	takes time.Duration
	tries int
}

func (r *refusing) CreateTask(machine string, task api.Task) error {
	r.tries++
	r.clock.time = r.clock.time.Add(r.takes)
	return api.NewHostPortTaken(task.ID, 80, machine, "other")
}

// setClock gives the storage of tasks a clock of the test's.
func setClock(storage apiserver.RESTStorage, c *clock) {
	storage.(*TaskRegistryStorage).now = c.now
}

func TestPlacingATaskBeginsNoTryAfterItsTime(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		takes time.Duration
		tries int
	}{{placeTime, 1}, {placeTime - 1, 2}, {placeTime / 5, 5}} {
		registry := &refusing{MemoryRegistry: MakeMemoryRegistry(), clock: &clock{}, takes: row.takes}
		storage := MakeTaskRegistryStorage(registry, nil, schedulersOver(machineNames(60), registry)["round robin"])
		setClock(storage, registry.clock)
		err := storage.Create(makeTask("x", 80))
		requireKind(t, api.Unavailable, err)
		assert.EqualError(t, err, `task "x" could not be placed: other requests keep taking its host ports, or the store is slow; try again`)
		assert.Equal(t, row.tries, registry.tries)
	}
}

func TestATaskIsAnsweredWithWhatItsKubeletKnows(t *testing.T) {
	t.Parallel()
	memory := MakeMemoryRegistry()
	storage := taskStorage(memory, clienttest.FakeContainerInfo{"m1": {"known": map[string]interface{}{"Pid": 7}}})
	require.NoError(t, storage.Create(makeTask("known", 80)))
	require.NoError(t, storage.Create(makeTask("unknown", 80)))
	known, err := storage.Get("known")
	require.NoError(t, err)
	assert.Equal(t, map[string]interface{}{"Pid": 7}, known.(*api.Task).CurrentState.Info)
	stored, err := memory.GetTask("known")
	require.NoError(t, err)
	assert.Nil(t, stored.CurrentState.Info, "it is not stored")

	// D21: the task is answered even if its kubelet is down.
	unknown, err := storage.Get("unknown")
	require.NoError(t, err)
	assert.Equal(t, api.TaskState{Host: "m2"}, answeredTask(unknown).CurrentState)
}

func TestLabelMatches(t *testing.T) {
	t.Parallel()
	task := labelled(makeTask("x"), map[string]string{"name": "web", "empty": ""})
	assert.True(t, LabelMatch(task, "name", "web"))
	assert.True(t, LabelMatch(task, "empty", ""))
	assert.False(t, LabelMatch(task, "name", "db"))
	assert.False(t, LabelMatch(task, "other", ""))
	assert.True(t, LabelsMatch(task, nil))
	assert.True(t, LabelsMatch(task, &map[string]string{"name": "web", "empty": ""}))
	assert.False(t, LabelsMatch(task, &map[string]string{"name": "web", "other": ""}))
}

func TestStoragesAreSafeForConcurrentUse(t *testing.T) {
	onEachStorage(t, func(t *testing.T, kind string, storage apiserver.RESTStorage) {
		var created atomic.Int32
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				for i := range 10 {
					object := objects(fmt.Sprintf("x-%d", i), map[string]string{"a": "b"})[kind]
					if storage.Create(object) == nil {
						created.Add(1)
					}
					assert.NoError(t, storage.Update(object))
					_, err := storage.List(&url.URL{RawQuery: "labels=a%3Db"})
					assert.NoError(t, err)
				}
			})
		}
		group.Wait()
		if kind == "task" { // the others may have been created by Update
			assert.EqualValues(t, 10, created.Load())
		}
	})
}
