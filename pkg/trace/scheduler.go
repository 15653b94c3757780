package trace

import (
	"maps"
	"slices"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
)

// Scheduler traces a scheduler.
func (t *Tracer) Scheduler(next registry.Scheduler) registry.Scheduler {
	plain := scheduler{t, next}
	again, reschedules := next.(registry.Rescheduler)
	order, ranks := next.(registry.Ranker)
	switch {
	case reschedules && ranks:
		return struct {
			scheduler
			rescheduler
			ranker
		}{plain, rescheduler{t, again}, ranker{t, order}}
	case reschedules:
		return struct {
			scheduler
			rescheduler
		}{plain, rescheduler{t, again}}
	case ranks:
		return struct {
			scheduler
			ranker
		}{plain, ranker{t, order}}
	}
	return plain
}

type scheduler struct {
	t    *Tracer
	next registry.Scheduler
}

func (s scheduler) Schedule(task api.Task) (string, error) {
	return ask(s.t, called(s.next, "Schedule", words(task)), machineWords, func() (string, error) { return s.next.Schedule(task) })
}

type rescheduler struct {
	againT *Tracer
	again  registry.Rescheduler
}

func (s rescheduler) Reschedule(task api.Task, refused map[string]bool) (string, error) {
	return ask(s.againT, called(s.again, "Reschedule", append([]string{words(task)}, refusals(refused)...)...), machineWords,
		func() (string, error) { return s.again.Reschedule(task, refused) })
}

type ranker struct {
	orderT *Tracer
	order  registry.Ranker
}

func (r ranker) Rank() []string {
	machines, _ := ask(r.orderT, called(r.order, "Rank"), machinesWords, func() ([]string, error) { return r.order.Rank(), nil })
	return machines
}

// refusals describes which machines have refused, if any.
func refusals(refused map[string]bool) []string {
	if len(refused) == 0 {
		return nil
	}
	return []string{"but not " + cut(strings.Join(slices.Sorted(maps.Keys(refused)), ","), maxValue)}
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
