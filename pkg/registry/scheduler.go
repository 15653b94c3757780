package registry

import (
	"math/rand"
	"sync"

	"kube2014/pkg/api"
)

// Scheduler chooses the machine for a task. It is called from many goroutines
// at once.
type Scheduler interface {
	// Schedule returns a machine. The registry has the last word about it:
	// the scheduler's knowledge of host ports may be old, or none.
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

var (
	_ Rescheduler = (*RandomScheduler)(nil)
	_ Rescheduler = (*RoundRobinScheduler)(nil)
	_ Rescheduler = (*FirstFitScheduler)(nil)
)

// RandomScheduler chooses any machine.
type RandomScheduler struct {
	machines []string

	mu     sync.Mutex // a rand.Rand has no lock of its own
	random rand.Rand
}

// MakeRandomScheduler returns a scheduler that throws the given dice.
func MakeRandomScheduler(machines []string, random rand.Rand) Scheduler {
	return &RandomScheduler{machines: machines, random: random}
}

// Schedule returns any machine.
func (s *RandomScheduler) Schedule(task api.Task) (string, error) {
	return s.Reschedule(task, nil)
}

// Reschedule returns any of the machines that have not refused.
func (s *RandomScheduler) Reschedule(task api.Task, refused map[string]bool) (string, error) {
	left := make([]string, 0, len(s.machines))
	for _, machine := range s.machines {
		if !refused[machine] {
			left = append(left, machine)
		}
	}
	if len(left) == 0 {
		return "", noMachine(task)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return left[s.random.Intn(len(left))], nil
}

// RoundRobinScheduler chooses one machine after the other.
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

// Schedule returns the machine whose turn it is.
func (s *RoundRobinScheduler) Schedule(task api.Task) (string, error) {
	return s.Reschedule(task, nil)
}

// Reschedule returns the next machine that has not refused.
func (s *RoundRobinScheduler) Reschedule(task api.Task, refused map[string]bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.machines {
		machine := s.machines[s.next]
		s.next = (s.next + 1) % len(s.machines)
		if !refused[machine] {
			return machine, nil
		}
	}
	return "", noMachine(task)
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
	index, ok := s.registry.(HostPortIndex)
	if !ok {
		var err error
		if index, err = listHostPorts(s.registry); err != nil {
			return "", err
		}
	}
	machine, err := index.FirstFree(s.machines, task, refused)
	if err == nil && machine == "" {
		err = noMachine(task)
	}
	return machine, err
}

func noMachine(task api.Task) error {
	return api.NewConflict("no machine has the host ports of task %s free", api.Quote(task.ID))
}
