package registry

import (
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

// Rescheduler is a Scheduler that can choose again when a machine has refused
// a task.
type Rescheduler interface {
	Scheduler
	// Reschedule returns a machine that is not in refused, or an api.Conflict
	// error when there is none left.
	Reschedule(task api.Task, refused map[string]bool) (string, error)
}

// Ranker is a Scheduler that does not look at host ports. It ranks the machines,
// and its caller takes the first one that fits.
type Ranker interface {
	Scheduler
	// Rank returns all machines, in the order for one task. The caller owns the
	// slice.
	Rank() []string
}

var (
	_ Ranker      = (*RandomScheduler)(nil)
	_ Ranker      = (*RoundRobinScheduler)(nil)
	_ Rescheduler = (*FirstFitScheduler)(nil)
)

// RandomScheduler chooses any machine.
type RandomScheduler struct {
	machines []string

	mu     sync.Mutex // a rand.Rand has no lock of its own
	random rand.Rand
}

// MakeRandomScheduler returns a scheduler that uses the given random numbers.
func MakeRandomScheduler(machines []string, random rand.Rand) Scheduler {
	return &RandomScheduler{machines: machines, random: random}
}

// Schedule returns any machine, whether it fits or not.
func (s *RandomScheduler) Schedule(task api.Task) (string, error) {
	return firstOf(s.Rank(), task)
}

// Rank returns the machines in any order.
func (s *RandomScheduler) Rank() []string {
	order := slices.Clone(s.machines)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// RoundRobinScheduler chooses the machines in turn.
type RoundRobinScheduler struct {
	machines []string

	mu   sync.Mutex // two callers must not get the same turn
	next int
}

// MakeRoundRobinScheduler returns a scheduler that begins with the first
// machine.
func MakeRoundRobinScheduler(machines []string) Scheduler {
	return &RoundRobinScheduler{machines: machines}
}

// Schedule returns the machine whose turn it is, whether it fits or not.
func (s *RoundRobinScheduler) Schedule(task api.Task) (string, error) {
	return firstOf(s.Rank(), task)
}

// Rank returns the machine whose turn it is, then those that follow. Each call
// moves the turn by one machine, even if the caller skips some.
func (s *RoundRobinScheduler) Rank() []string {
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
// registry's tasks: through its HostPortIndex if it has one, else by listing
// the tasks.
func MakeFirstFitScheduler(machines []string, registry TaskRegistry) Scheduler {
	return &FirstFitScheduler{machines: machines, registry: registry}
}

// Schedule returns the first machine that fits.
func (s *FirstFitScheduler) Schedule(task api.Task) (string, error) {
	return s.Reschedule(task, nil)
}

// Reschedule returns the first machine that fits and has not refused.
func (s *FirstFitScheduler) Reschedule(task api.Task, refused map[string]bool) (string, error) {
	return firstFit(s.machines, s.registry, task, refused)
}

// firstFit returns the first of the machines, except the refused ones, on which
// the task's host ports are free; an api.Conflict error if there is none. It
// makes one query, whatever the number of machines.
func firstFit(machines []string, registry TaskRegistry, task api.Task, refused map[string]bool) (string, error) {
	if versioned, ok := registry.(Versioned); ok {
		if len(refused) > 0 {
			machines = slices.DeleteFunc(slices.Clone(machines), func(machine string) bool { return refused[machine] })
		}
		machine, err := versioned.Objects().FirstFree(machines, task)
		if err == nil && machine == "" {
			err = noMachine(task)
		}
		return machine, err
	}
	index, ok := registry.(HostPortIndex)
	if !ok {
		var err error
		if index, err = listHostPorts(registry); err != nil {
			return "", err
		}
	}
	machine, err := index.FirstFree(machines, task, refused)
	if err == nil && machine == "" {
		err = noMachine(task)
	}
	return machine, err
}

// firstOf returns the first of the machines, an api.Conflict error when there is
// none.
func firstOf(machines []string, task api.Task) (string, error) {
	if len(machines) == 0 {
		return "", noMachine(task)
	}
	return machines[0], nil
}

func noMachine(task api.Task) error {
	return api.NewConflict("no machine has the host ports of task %s free", api.Quote(task.ID))
}
