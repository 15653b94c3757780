package main

import (
	_ "embed" // of notes.md
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kube2014/bench/measure"
	"kube2014/bench/scale/clients"
)

// result is what one run of a cluster took.
type result struct {
	*cluster
	pace
	where         string
	share         float64   // of the pods that were due
	events        float64   // that informers received in a second
	cores, memory []float64 // of each server; memory in GB
	times         map[string]clients.Summary
	failures      map[string]int
}

// String is all that a run took, by the kinds of requests.
func (r *result) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s, %d nodes, %d pods, speed %g, for %v: %.3g %% of the pods that were due came, informers received %.0f events a second\n",
		r.where, r.Nodes, r.Pods, r.speed, r.duration, r.share*100, r.events)
	for i := range r.cores {
		fmt.Fprintf(&text, "server %d: %.3g GB, %.3g cores\n", i, r.memory[i], r.cores[i])
	}
	fmt.Fprintf(&text, "not answered as wanted: %v\n\n| request | number | median | 99 %% | longest |\n|---|---|---|---|---|\n", r.failures)
	for _, kind := range slices.Sorted(maps.Keys(r.times)) {
		t := r.times[kind]
		fmt.Fprintf(&text, "| %s | %d | %s | %s | %s ms |\n", kind, t.Count, milliseconds(t.P50), milliseconds(t.P99), milliseconds(t.Most))
	}
	return text.String()
}

func milliseconds(d time.Duration) string { return measure.Number(measure.Milliseconds(d)) }

// p99 returns the longest 99th percentile of some kinds.
func (r *result) p99(of func(kind string) bool) (most time.Duration) {
	for kind, t := range r.times {
		if of(kind) {
			most = max(most, t.P99)
		}
	}
	return most
}

func isSingle(kind string) bool {
	return !strings.HasPrefix(kind, "list") && !strings.Contains(kind, "event")
}

func is(wanted string) func(string) bool { return func(kind string) bool { return kind == wanted } }

// promises are what is told of the times of requests: in their order, the longest times that Kubernetes allows itself.
var promises = []struct {
	name string
	of   func(kind string) bool
	most time.Duration // 0 if there is no such
}{
	{"single objects", isSingle, time.Second},
	{"lists of a namespace", is(clients.ListOfNamespace), 5 * time.Second},
	{"lists of everything", is(clients.ListOfAll), 30 * time.Second},
	{"an event at an informer", is(clients.EventOfPod), 0},
	{"at a kubelet", is(clients.EventOfBinding), 0},
}

// row is what scale.md has of it.
func (r *result) row() string {
	cells := []string{r.where, fmt.Sprintf("%d", r.Nodes), fmt.Sprintf("%g", r.speed), fmt.Sprintf("%.3g %%", r.share*100),
		numbers(r.cores), numbers(r.memory), measure.Number(r.ofPod)}
	for _, p := range promises {
		took := r.p99(p.of)
		cell := milliseconds(took)
		if p.most > 0 && took > p.most {
			cell = "**" + cell + "**"
		}
		cells = append(cells, cell)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

func numbers(all []float64) string {
	var texts []string
	for _, one := range all {
		texts = append(texts, measure.Number(one))
	}
	return strings.Join(texts, " + ")
}

//go:embed notes.md
var notes string

// document is scale.md.
func document(results []*result) string {
	head, line := "| servers | nodes | speed | pods that came | cores | GB | KB a pod |", "|---|---|---|---|---|---|---|"
	for _, p := range promises {
		head, line = head+" "+p.name+" |", line+"---|"
	}
	var rows []string
	for _, r := range results {
		rows = append(rows, r.row())
	}
	return fmt.Sprintf("# Scale\n\nWritten by `make scale` on %s: %s.\n\n%s\n%s\n%s\n\n%s", time.Now().Format("2 January 2006"), measure.Machine(), head, line,
		strings.Join(rows, "\n"), notes)
}

// plots are those of the clusters in memory at the speed of the clock, by the names of their files.
func plots(results []*result) map[string]measure.Plot {
	cpu := measure.Plot{Title: "CPU time of the server by the number of nodes", X: "nodes", Y: "% of a core"}
	memory := measure.Plot{Title: "Memory of the server by the number of nodes", X: "nodes", Y: "GB"}
	requests := measure.Plot{Title: "Requests by the number of nodes: 99th percentile", X: "nodes", Y: "ms"}
	for _, r := range results {
		if r.where != inMemory || r.speed != 1 {
			continue
		}
		x := float64(r.Nodes)
		cpu.Add("", x, r.cores[0]*100)
		memory.Add("", x, r.memory[0])
		requests.Add("single objects", x, measure.Milliseconds(r.p99(isSingle)))
		requests.Add("lists of a namespace", x, measure.Milliseconds(r.p99(is(clients.ListOfNamespace))))
	}
	return map[string]measure.Plot{"scale-cpu.svg": cpu, "scale-memory.svg": memory, "scale-requests.svg": requests}
}
