package registry

import (
	"errors"
	"fmt"
	"iter"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// awayStore is a store that cannot be reached.
type awayStore struct{ storage.Interface }

var errAway = api.NewUnavailable("list tasks", errors.New("refused"))

func (awayStore) Get(api.Key) (*storage.Object, error)               { return nil, errAway }
func (awayStore) List(storage.Selection) (*storage.List, error)      { return nil, errAway }
func (awayStore) FirstFree(iter.Seq[api.Object]) (api.Object, error) { return nil, errAway }

// away returns a registry on it.
func away() *Registry { return MakeRegistry(awayStore{}) }

func expectSchedule(t *testing.T, scheduler Scheduler, task api.Task, machine string) {
	t.Helper()
	got, err := scheduler.Schedule(task)
	require.NoError(t, err)
	assert.Equal(t, machine, got)
}

func seeded() rand.Rand { return *rand.New(rand.NewSource(1)) }

// schedulersOver makes one scheduler of each kind.
func schedulersOver(machines []string, tasks TaskRegistry) map[string]Scheduler {
	atRandom, inTurn := MakeRandomScheduler(machines, seeded()), MakeRoundRobinScheduler(machines)
	atRandom.(*RandomScheduler).Registry, inTurn.(*RoundRobinScheduler).Registry = tasks, tasks
	return map[string]Scheduler{"first fit": MakeFirstFitScheduler(machines, tasks), "random": atRandom, "round robin": inTurn}
}

func TestRoundRobinTakesTheMachinesInTurn(t *testing.T) {
	t.Parallel()
	scheduler := MakeRoundRobinScheduler([]string{"m1", "m2", "m3"})
	for _, machine := range []string{"m1", "m2", "m3", "m1"} {
		expectSchedule(t, scheduler, makeTask("x"), machine)
	}
}

func TestRandomReachesEveryMachine(t *testing.T) {
	t.Parallel()
	scheduler := MakeRandomScheduler([]string{"m1", "m2", "m3"}, seeded())
	seen := map[string]int{}
	for range 300 {
		machine, err := scheduler.Schedule(makeTask("x"))
		require.NoError(t, err)
		seen[machine]++
	}
	require.Len(t, seen, 3)
	for machine, times := range seen {
		assert.Greater(t, times, 50, machine)
	}
}

func TestFirstFitTakesTheFirstMachineWithTheHostPortsFree(t *testing.T) {
	t.Parallel()
	memory := MakeMemoryRegistry()
	require.NoError(t, memory.CreateTask("m1", makeTask("a", 8080)))
	require.NoError(t, memory.CreateTask("m1", makeTask("b", 8081)))
	require.NoError(t, memory.CreateTask("m2", makeTask("c", 8080, 9090)))
	scheduler := MakeFirstFitScheduler([]string{"m1", "m2", "m3"}, memory)
	expectSchedule(t, scheduler, makeTask("x", 9090), "m1")
	expectSchedule(t, scheduler, makeTask("x", 8081), "m2")
	expectSchedule(t, scheduler, makeTask("x", 8080), "m3")
	expectSchedule(t, scheduler, makeTask("x", 8082, 8080), "m3")
	expectSchedule(t, scheduler, makeTask("x"), "m1")
	expectSchedule(t, scheduler, makeTask("x", 0), "m1")    // D19
	expectSchedule(t, scheduler, makeTask("a", 8080), "m1") // its own port does not count: CreateTask decides
	_, err := MakeFirstFitScheduler([]string{"m1", "m2"}, memory).Schedule(makeTask("x", 8080))
	requireKind(t, api.Conflict, err)
	assert.EqualError(t, err, `no machine has the host ports of task "x" free`)
}

func TestFirstFitFollowsTheOrderOfTheMachines(t *testing.T) {
	t.Parallel()
	expectSchedule(t, MakeFirstFitScheduler([]string{"z", "a"}, MakeMemoryRegistry()), makeTask("x", 80), "z")
}

func TestFirstFitReportsARegistryThatIsAway(t *testing.T) {
	t.Parallel()
	_, err := MakeFirstFitScheduler([]string{"m"}, away()).Schedule(makeTask("x", 80))
	requireKind(t, api.Unavailable, err)
}

// Of the machines that fit, each order is as likely: a machine that does not fit
// gives its place to any other.
func TestRandomShufflesTheMachines(t *testing.T) {
	t.Parallel()
	machines := []string{"m1", "m2", "m3"}
	scheduler := MakeRandomScheduler(machines, seeded()).(*RandomScheduler)
	seen := map[string]int{}
	for range 600 {
		order := scheduler.shuffled()
		assert.ElementsMatch(t, machines, order)
		seen[fmt.Sprint(order)]++
	}
	assert.Len(t, seen, 6)
	for order, times := range seen {
		assert.Greater(t, times, 50, order)
	}
	assert.Equal(t, []string{"m1", "m2", "m3"}, machines)
}

// placesOf places tasks that want host port 80, and deletes each before it
// places the next. On the machines in full another task has the port. It returns
// the machines that were chosen.
func placesOf(t *testing.T, kind string, machines, full []string, tasks int) (places []string) {
	memory := MakeMemoryRegistry()
	for _, machine := range full {
		require.NoError(t, memory.CreateTask(machine, makeTask("on-"+machine, 80)))
	}
	storage := MakeTaskRegistryStorage(memory, nil, schedulersOver(machines, memory)[kind])
	for range tasks {
		require.NoError(t, storage.Create(makeTask("x", 80)))
		task, err := memory.GetTask("x")
		require.NoError(t, err)
		places = append(places, task.CurrentState.Host)
		require.NoError(t, storage.Delete("x"))
	}
	return places
}

func TestD40RandomChoosesAmongTheMachinesThatFit(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, machine := range placesOf(t, "random", []string{"m1", "m2", "m3", "m4", "m5"}, []string{"m1", "m3"}, 300) {
		seen[machine]++
	}
	require.Len(t, seen, 3)
	for _, machine := range []string{"m2", "m4", "m5"} {
		assert.Greater(t, seen[machine], 50, machine)
	}
}

// A machine that does not fit gives its turn to the next one that does.
func TestD40RoundRobinSkipsTheMachinesThatDoNotFit(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"m1", "m3", "m3", "m4", "m1", "m3"}, placesOf(t, "round robin", []string{"m1", "m2", "m3", "m4"}, []string{"m2"}, 6))
	assert.Equal(t, []string{"m2", "m2", "m2"}, placesOf(t, "round robin", []string{"m1", "m2", "m3"}, []string{"m1", "m3"}, 3))
}

func TestWithoutMachinesNoTaskIsPlaced(t *testing.T) {
	t.Parallel()
	for name, scheduler := range schedulersOver(nil, MakeMemoryRegistry()) {
		_, err := scheduler.Schedule(makeTask("x"))
		require.Error(t, err, name)
		requireKind(t, api.Conflict, err)
	}
}

func TestSchedulersAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	machines := machineNames(4)
	for name, scheduler := range schedulersOver(machines, MakeMemoryRegistry()) {
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				for range 50 {
					machine, err := scheduler.Schedule(makeTask("x", 80))
					assert.NoError(t, err, name)
					assert.Contains(t, machines, machine)
				}
			})
		}
		group.Wait()
	}
}

// Placing a task and taking its host ports is one step: as many tasks are
// placed as there are free places, whatever the scheduler.
func TestD44Of400TasksFor80PlacesExactly80ArePlaced(t *testing.T) {
	t.Parallel()
	const places, clients = 80, 400
	for _, kind := range []string{"first fit", "random", "round robin"} {
		registry := MakeMemoryRegistry()
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			// 20 machines × 4 host ports.
			storage := MakeTaskRegistryStorage(registry, nil, schedulersOver(machineNames(20), registry)[kind])
			setClock(storage, &clock{}) // it stands still: nobody gives up
			var placed atomic.Int32
			var group sync.WaitGroup
			for i := range clients {
				group.Go(func() {
					err := storage.Create(makeTask(fmt.Sprintf("task-%d", i), 8000+i%4))
					if err == nil {
						placed.Add(1)
					} else {
						assert.Equal(t, api.Conflict, api.KindOf(err))
					}
				})
			}
			group.Wait()
			assert.EqualValues(t, places, placed.Load())
			tasks, err := registry.ListTasks(nil)
			require.NoError(t, err)
			require.Len(t, tasks, places)
			taken := map[string]string{}
			for _, task := range tasks {
				place := fmt.Sprint(task.CurrentState.Host, ":", task.HostPorts())
				assert.Empty(t, taken[place], "%s is shared", place)
				taken[place] = task.ID
			}
		})
	}
}
