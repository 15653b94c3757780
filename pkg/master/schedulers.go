package master

import (
	"math/rand"
	"time"

	"kube2014/pkg/options"
	"kube2014/pkg/registry"
)

// schedulers has the schedulers by the values of -scheduler.
var schedulers = map[string]func(machines []string, tasks registry.TaskRegistry) registry.Scheduler{
	options.FirstFit: registry.MakeFirstFitScheduler,
	options.Random: func(machines []string, tasks registry.TaskRegistry) registry.Scheduler {
		scheduler := registry.MakeRandomScheduler(machines, *rand.New(rand.NewSource(time.Now().UnixNano())))
		scheduler.(*registry.RandomScheduler).Registry = tasks
		return scheduler
	},
	options.RoundRobin: func(machines []string, tasks registry.TaskRegistry) registry.Scheduler {
		scheduler := registry.MakeRoundRobinScheduler(machines)
		scheduler.(*registry.RoundRobinScheduler).Registry = tasks
		return scheduler
	},
	options.NoScheduler: registry.MakeFirstFitScheduler, // for tasks, which cannot wait
}

// NewScheduler returns the scheduler of tasks according to the flags.
func (m *Master) NewScheduler(tasks registry.TaskRegistry) registry.Scheduler {
	return m.tracer.Scheduler(schedulers[m.o.Generic.Scheduler](m.o.Generic.Machines, tasks))
}

// newPlacer returns the placer of new pods, and adds the placing of waiting ones to the loops.
func (m *Master) newPlacer(scheduler registry.Scheduler) *registry.PodPlacer {
	if m.o.Generic.Scheduler == options.NoScheduler {
		scheduler = nil
	}
	objects, machines := m.Stores.Objects, m.o.Generic.Machines
	placer := registry.MakePodPlacer(m.lifecycle, scheduler)
	m.Loops.PlacePending, m.Loops.mayBeFree = m.tracer.Sync("PodPlacer.PlacePending", placer.PlacePending), placer.Changes
	if m.o.Generic.MachinesByUser || scheduler != nil {
		m.Loops.Register = m.tracer.Sync("RegisterMachines", func() error { return registry.RegisterMachines(objects, machines) })
	}
	return placer
}
