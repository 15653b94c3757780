package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"kube2014/bench/measure"
	"kube2014/bench/scale/clients"
)

const podsOfNode = 30

// load is what the clients of a cluster do.
type load struct {
	nodes    int
	speed    float64 // how many times as fast as by the clock
	duration time.Duration
	kills    bool // the last server is killed after a third of the time
}

// cluster is some servers and their clients.
type cluster struct {
	*clients.Load
	servers []measure.Server
	ofPod   float64       // the memory of a pod at the first server with five informers, in KB
	opened  time.Duration // how long it took until all kubelets knew their pods
}

// measure fills the servers of one cluster, lets its clients work, prints what that took, and ends all.
func (s *scaling) measure(ctx context.Context, where string, of load, servers ...measure.Server) error {
	defer s.Close()
	ctx, cancel := context.WithCancel(ctx)
	size := clients.Size{Nodes: of.nodes, Pods: of.nodes * podsOfNode, Speed: of.speed}
	c := &cluster{Load: clients.New(size, []string{authorization}, servers...), servers: servers}
	s.AtEnd(c.Wait)
	s.AtEnd(cancel)
	s.say("%d nodes, %d pods, %d servers %s", of.nodes, c.Pods, len(servers), where)
	if err := c.fill(ctx); err != nil {
		return err
	}
	s.say("they are filled, %.1f KB a pod; all kubelets knew their pods after %.1f s", c.ofPod, c.opened.Seconds())
	if of.kills {
		last := servers[len(servers)-1]
		c.servers = servers[:len(servers)-1]
		kill := time.AfterFunc(of.duration/3, func() { _ = syscall.Kill(last.PID, syscall.SIGKILL) })
		defer kill.Stop()
	}
	return c.run(ctx, of)
}

// fill creates what is in the cluster, and starts its clients: five informers before there are pods, five later.
func (c *cluster) fill(ctx context.Context) error {
	var empty, filled int
	var start time.Time
	for _, step := range []func() error{
		c.FillNodes,
		func() error { return c.Follow(ctx, 5) },
		func() (err error) { empty, err = c.servers[0].ResidentMemory(); return err },
		c.FillPods,
		func() (err error) { filled, err = c.servers[0].ResidentMemory(); return err },
		func() error { return c.Follow(ctx, 5) },
		func() error { start = time.Now(); return c.StartNodes(ctx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	c.ofPod, c.opened = float64(filled-empty)/1e3/float64(c.Pods), time.Since(start)
	return nil
}

// run lets the clients work for a time, and prints what that took. All must know the same at the end.
func (c *cluster) run(ctx context.Context, of load) error {
	c.Times.Take()
	before, err := c.cpuTimes()
	if err != nil {
		return err
	}
	events, start := c.Events.Load(), time.Now()
	share, err := c.Run(ctx, of.duration)
	if err != nil {
		return err
	}
	took := time.Since(start)
	times, failures := c.Times.Take(), c.Failures.Take()
	events = c.Events.Load() - events
	after, err := c.cpuTimes()
	if err != nil {
		return err
	}
	fmt.Printf("\n%d nodes, %d pods, speed %g, for %v: %.3g %% of the pods that were due came, informers received %.0f events a second\n",
		of.nodes, c.Pods, of.speed, of.duration, share*100, float64(events)/took.Seconds())
	for i, server := range c.servers {
		bytes, err := server.ResidentMemory()
		if err != nil {
			return err
		}
		fmt.Printf("server %d: %.3g GB, %.3g cores\n", i, float64(bytes)/1e9, float64(after[i]-before[i])/float64(took))
	}
	fmt.Printf("not answered as wanted: %v\n\n| request | number | median | 99 %% | longest |\n|---|---|---|---|---|\n", failures)
	for _, kind := range slices.Sorted(maps.Keys(times)) {
		t := times[kind]
		fmt.Printf("| %s | %d | %s | %s | %s ms |\n", kind, t.Count, milliseconds(t.P50), milliseconds(t.P99), milliseconds(t.Most))
	}
	return c.Check(ctx)
}

func milliseconds(d time.Duration) string { return measure.Number(measure.Milliseconds(d)) }

func (c *cluster) cpuTimes() (all []time.Duration, err error) {
	for _, s := range c.servers {
		one, err := s.CPUTime()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
