package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/bench/scale/clients"
)

func sample(nodes int, speed float64) *result {
	return &result{cluster: &cluster{Load: clients.New(clients.Size{Nodes: nodes, Pods: 30 * nodes}, nil), ofPod: 12.5}, pace: pace{speed, time.Minute}, where: inMemory, share: 0.5,
		events: 1000, cores: []float64{1.5, 0.5}, memory: []float64{2, 1}, failures: map[string]int{"GET of a lease: 429": 3}, times: map[string]clients.Summary{
			"GET of a pod": {Count: 10, P50: time.Millisecond, P99: 2 * time.Second, Most: 3 * time.Second}, "PUT of a lease": {P99: time.Second},
			clients.ListOfNamespace: {P99: 4 * time.Second}, clients.ListOfAll: {P99: 31 * time.Second}, clients.EventOfPod: {P99: time.Minute}, clients.EventOfBinding: {P99: time.Hour},
		}}
}

func TestARowTellsWhatTakesLongerThanPromised(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "| in memory | 500 | 6 | 50 % | 1.5 + 0.5 | 2 + 1 | 12.5 | **2000** | 4000 | **31000** | 60000 | 3600000 |", sample(500, 6).row())
}

func TestAllKindsOfRequestsArePrinted(t *testing.T) {
	t.Parallel()
	text := sample(500, 1).String()
	for _, part := range []string{"in memory, 500 nodes, 15000 pods, speed 1, for 1m0s: 50 % of the pods", "server 1: 1 GB, 0.5 cores", "429:3", "| GET of a pod | 10 | 1 | 2000 | 3000 ms |"} {
		assert.Contains(t, text, part)
	}
}

func TestTheReportHasPlotsOfTheClustersAtTheClock(t *testing.T) {
	t.Parallel()
	all := []*result{sample(500, 1), sample(5000, 1), sample(5000, 6)}
	text := document(all)
	assert.Contains(t, text, "| servers | nodes | speed | pods that came | cores | GB | KB a pod | single objects |")
	assert.Contains(t, text, all[2].row())
	assert.Contains(t, text, notes)
	for name, plot := range plots(all) {
		assert.Contains(t, text, "]("+name+")", "the notes show it")
		assert.Contains(t, plot.SVG(), ">5,000<")
	}
}
