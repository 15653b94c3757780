package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"kube2014/bench/measure"
	"kube2014/bench/scale/clients"
)

const podsOfNode = 30

// load is what the clients of a cluster do.
type load struct {
	nodes int
	paces []pace // one after the other
	kills bool   // the last server is killed after a third of the time
}

// pace is how fast the clients are, as a multiple of the clock, and for how long.
type pace struct {
	speed    float64
	duration time.Duration
}

// cluster is some servers and their clients.
type cluster struct {
	*clients.Load
	servers []measure.Server
	ofPod   float64       // the memory of a pod at the first server with five informers, in KB
	ready   time.Duration // how long it took until all kubelets knew their pods and had renewed their leases
}

// measure fills the servers of one cluster, lets its clients work, notes what that took, and ends all.
func (s *scaling) measure(ctx context.Context, where string, of load, servers ...measure.Server) error {
	defer s.Close()
	ctx, cancel := context.WithCancel(ctx)
	size := clients.Size{Nodes: of.nodes, Pods: of.nodes * podsOfNode}
	c := &cluster{Load: clients.New(size, []string{authorization}, servers...), servers: servers}
	s.AtEnd(c.Wait)
	s.AtEnd(cancel)
	s.say("%s: %d nodes, %d pods, %d servers", where, of.nodes, c.Pods, len(servers))
	if err := c.fill(ctx); err != nil {
		return err
	}
	s.say("they are filled, %.1f KB a pod; all kubelets were ready after %.1f s", c.ofPod, c.ready.Seconds())
	if of.kills {
		last := servers[len(servers)-1]
		c.servers = servers[:len(servers)-1]
		kill := time.AfterFunc(of.paces[0].duration/3, func() { _ = syscall.Kill(last.PID, syscall.SIGKILL) })
		defer kill.Stop()
	}
	for _, pace := range of.paces {
		r, err := c.run(ctx, pace)
		if err != nil {
			return err
		}
		r.where = where
		fmt.Println(r)
		s.say("%s", r.row())
		s.results = append(s.results, r)
		if err := c.Check(ctx); err != nil {
			return err
		}
	}
	return nil
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
	c.ofPod, c.ready = float64(filled-empty)/1e3/float64(c.Pods), time.Since(start)
	return nil
}

// run lets the clients work for a time.
func (c *cluster) run(ctx context.Context, at pace) (*result, error) {
	c.SetSpeed(ctx, at.speed)
	c.Times.Take()
	c.Failures.Take()
	before, err := c.cpuTimes()
	if err != nil {
		return nil, err
	}
	events, start := c.Events.Load(), time.Now()
	share, err := c.Run(ctx, at.duration)
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	r := &result{cluster: c, pace: at, share: share, events: float64(c.Events.Load()-events) / took.Seconds(), times: c.Times.Take(), failures: c.Failures.Take()}
	after, err := c.cpuTimes()
	if err != nil {
		return nil, err
	}
	for i, server := range c.servers {
		bytes, err := server.ResidentMemory()
		if err != nil {
			return nil, err
		}
		r.cores, r.memory = append(r.cores, float64(after[i]-before[i])/float64(took)), append(r.memory, float64(bytes)/1e9)
	}
	return r, nil
}

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
