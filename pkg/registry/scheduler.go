package registry

import (
	"iter"
	"math/rand"
	"slices"
	"sync"

	"kube2014/pkg/api"
)

// Scheduler chooses the machine for a task. It is called from many goroutines
// at once.
type Scheduler interface {
	// Schedule returns a machine. The registry decides whether the task fits
	// there: the scheduler may see stale host ports, or none.
	Schedule(api.Task) (string, error)
}

// RandomScheduler chooses any machine.
type RandomScheduler struct {
	// Registry has the tasks whose host ports count: machines where they are taken
	// are skipped (D40). If it is nil, none is. Set it before the first call.
	Registry TaskRegistry

	machines []string

	mu     sync.Mutex // a rand.Rand has no lock of its own
	random rand.Rand
}

// MakeRandomScheduler returns a scheduler that uses the given random numbers.
func MakeRandomScheduler(machines []string, random rand.Rand) Scheduler {
	return &RandomScheduler{machines: machines, random: random}
}

// Schedule returns any machine.
func (s *RandomScheduler) Schedule(task api.Task) (string, error) {
	return firstFree(s.Registry, s.shuffled(), task)
}

func (s *RandomScheduler) shuffled() []string {
	order := slices.Clone(s.machines)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// RoundRobinScheduler chooses the machines in turn.
type RoundRobinScheduler struct {
	// Registry is as in a RandomScheduler. The turn of a skipped machine goes to the
	// next one.
	Registry TaskRegistry

	machines []string

	mu   sync.Mutex // two callers must not get the same turn
	next int
}

// MakeRoundRobinScheduler returns a scheduler that begins with the first
// machine.
func MakeRoundRobinScheduler(machines []string) Scheduler {
	return &RoundRobinScheduler{machines: machines}
}

// Schedule returns the machine whose turn it is. Each call moves the turn by one
// machine.
func (s *RoundRobinScheduler) Schedule(task api.Task) (string, error) {
	return firstFree(s.Registry, s.inTurn(), task)
}

func (s *RoundRobinScheduler) inTurn() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := s.next
	if s.next++; s.next >= len(s.machines) {
		s.next = 0
	}
	return slices.Concat(s.machines[turn:], s.machines[:turn])
}

// FirstFitScheduler chooses the first machine on which none of the task's host
// ports is taken.
type FirstFitScheduler struct {
	machines []string
	registry TaskRegistry
}

// MakeFirstFitScheduler returns a scheduler that looks at the host ports of the
// registry's tasks.
func MakeFirstFitScheduler(machines []string, registry TaskRegistry) Scheduler {
	return &FirstFitScheduler{machines: machines, registry: registry}
}

// Schedule returns the first machine that fits.
func (s *FirstFitScheduler) Schedule(task api.Task) (string, error) {
	return firstFree(s.registry, s.machines, task)
}

// firstFree returns the first of the machines on which no task of the registry, which
// may be nil, has the task's host ports; an api.Conflict error if there is none. It
// makes one query, whatever the number of machines.
func firstFree(registry TaskRegistry, machines []string, task api.Task) (string, error) {
	if registry == nil && len(machines) > 0 {
		return machines[0], nil
	}
	if registry != nil {
		free, err := objectsOf(registry).FirstFree(onEach(machines, task))
		if err != nil {
			return "", err
		}
		if free != nil {
			return free.(*api.Task).CurrentState.Host, nil
		}
	}
	return "", api.NewConflict("no machine has the host ports of task %s free", api.Quote(task.ID))
}

// onEach yields a task as it would be on each of the machines, in the same variable.
func onEach(machines []string, task api.Task) iter.Seq[api.Object] {
	return func(send func(api.Object) bool) {
		for _, machine := range machines {
			if task.CurrentState.Host = machine; !send(&task) {
				return
			}
		}
	}
}
