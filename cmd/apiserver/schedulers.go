package main

import (
	"math/rand"
	"time"

	"kube2014/pkg/options"
	"kube2014/pkg/registry"
)

// schedulers by the name that -scheduler gives them.
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
	options.NoScheduler: registry.MakeFirstFitScheduler, // of pods; tasks cannot wait
}

// makeScheduler returns the scheduler of the first door's tasks.
func makeScheduler(o *options.ServerRunOptions, tasks registry.TaskRegistry) registry.Scheduler {
	return schedulers[o.Generic.Scheduler](o.Generic.Machines, tasks)
}
