package trace

import (
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
)

// Scheduler traces a scheduler.
func (t *Tracer) Scheduler(next registry.Scheduler) registry.Scheduler { return scheduler{t, next} }

type scheduler struct {
	t    *Tracer
	next registry.Scheduler
}

func (s scheduler) Schedule(task api.Task) (string, error) {
	return ask(s.t, called(s.next, "Schedule", words(task)), machineWords, func() (string, error) { return s.next.Schedule(task) })
}

func machineWords(machine string) string {
	if machine == "" {
		return "no machine"
	}
	return "machine " + cut(machine, maxValue)
}

func machinesWords(machines []string) string {
	return "[" + cut(strings.Join(machines, ","), maxValue) + "]"
}
