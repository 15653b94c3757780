package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"kube2014/bench/measure"
)

const (
	manyNodes  = 4900 // each with a watch, as a kubelet has
	timedPods  = 1000 // whose way to their kubelet is timed
	pacePause  = 5 * time.Millisecond
	postedPods = 8000
)

// measureNodeWatches measures what it costs that each kubelet watches the pods of its node: POSTs
// of pods, and the time to their event, beside many such watches and beside one.
func measureNodeWatches(b *bench) error {
	var one, many nodeWatches
	for range 3 {
		for _, side := range []struct {
			nodes int
			into  *nodeWatches
		}{{1, &one}, {manyNodes, &many}} {
			if err := side.into.measure(b, side.nodes); err != nil {
				return err
			}
		}
	}
	b.addRates("POST of a pod beside 4,900 watches of a node each", "of the rate beside one", many.rates, one.rates, 0.7)
	b.add(row{what: "POST of a pod to its event, 99th percentile, beside 4,900 watches", unit: "of the time beside one",
		values: measure.Ratios(many.late, one.late), bound: 3, detail: fmt.Sprintf("%.3g ms vs %.3g ms", measure.Median(many.late), measure.Median(one.late))})
	return nil
}

// nodeWatches is what was measured beside a number of watches, in each run.
type nodeWatches struct {
	rates []float64 // POSTs a second
	late  []float64 // the 99th percentile of the time from a POST to its event, in milliseconds
}

func (n *nodeWatches) measure(b *bench, nodes int) error {
	s, err := b.startApiserver(1, "-scheduler", "none")
	if err != nil {
		return err
	}
	defer b.Close()
	arrivals := &arrivals{at: make([]time.Time, timedPods)}
	var watching sync.WaitGroup
	var open []*measure.Conn
	for node := range nodes {
		c, err := s.Dial()
		if err != nil {
			return err
		}
		open = append(open, c)
		events, err := c.Stream(measure.Request("GET", fmt.Sprintf("/api/v1/pods?watch=1&resourceVersion=0&fieldSelector=spec.nodeName%%3Dnode-%d", node), nil))
		if err != nil {
			return err
		}
		watching.Go(func() { arrivals.read(events) })
	}
	defer watching.Wait()
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	sent := make([]time.Time, timedPods)
	c, err := s.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	for i := range timedPods {
		sent[i] = time.Now()
		if _, err := c.Do(podOnNode(fmt.Sprint("timed-", i), i%nodes), false); err != nil {
			return err
		}
		time.Sleep(pacePause)
	}
	late, err := arrivals.since(sent)
	if err != nil {
		return err
	}
	slices.Sort(late)
	n.late = append(n.late, late[len(late)*99/100])
	took, err := s.SendAll(16, postedPods, func(i int) []byte { return podOnNode(fmt.Sprint("pod-", i), i%nodes) })
	n.rates = append(n.rates, postedPods/took.Seconds())
	return err
}

func podOnNode(name string, node int) []byte {
	return measure.Request("POST", "/api/v1/namespaces/default/pods", fmt.Appendf(nil,
		`{"metadata":{"name":"%s"},"spec":{"nodeName":"node-%d","containers":[{"name":"c","image":"i:1"}]}}`, name, node))
}

// arrivals are when the events of the timed pods arrived.
type arrivals struct {
	mu sync.Mutex // guards at
	at []time.Time
}

// read notes the events of a watch until it ends.
func (a *arrivals) read(events io.Reader) {
	for lines := bufio.NewReader(events); ; {
		line, err := lines.ReadBytes('\n')
		now := time.Now()
		if err != nil {
			return
		}
		_, name, ok := bytes.Cut(line, []byte(`"name":"timed-`))
		number, _, _ := bytes.Cut(name, []byte(`"`))
		if i, err := strconv.Atoi(string(number)); ok && err == nil {
			a.mu.Lock()
			a.at[i] = now
			a.mu.Unlock()
		}
	}
}

// since returns the time from each POST to its event, in milliseconds, when all have arrived.
func (a *arrivals) since(sent []time.Time) ([]float64, error) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		a.mu.Lock()
		late := make([]float64, 0, len(sent))
		for i, at := range a.at {
			if !at.IsZero() {
				late = append(late, measure.Milliseconds(at.Sub(sent[i])))
			}
		}
		a.mu.Unlock()
		if len(late) == len(sent) {
			return late, nil
		}
	}
	return nil, fmt.Errorf("not all events of %d pods have arrived", len(sent))
}
