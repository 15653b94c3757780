package main

import (
	"context"

	"kube2014/bench/measure"
)

// A group measures some clusters.
var groups = []struct {
	name    string
	measure func(context.Context, *scaling) error
}{
	{"growth", measureGrowth},
	{"hour", measureHour},
	{"etcd", measureOnEtcd},
	{"several", measureSeveral},
}

// measureGrowth measures clusters of several sizes in memory, at the speed of the clock.
func measureGrowth(ctx context.Context, s *scaling) error {
	for _, part := range []int{10, 4, 2, 1} {
		server, err := s.start()
		if err != nil {
			return err
		}
		if err := s.measure(ctx, "in memory", load{nodes: s.nodes / part, speed: 1, duration: s.minute}, server); err != nil {
			return err
		}
	}
	return nil
}

// measureHour lets the largest cluster do in memory, in ten minutes, what it does in an hour.
func measureHour(ctx context.Context, s *scaling) error {
	server, err := s.start()
	if err != nil {
		return err
	}
	return s.measure(ctx, "in memory", load{nodes: s.nodes, speed: 6, duration: 10 * s.minute}, server)
}

// measureOnEtcd compares us on etcd with kube-apiserver at a size that it bears, and measures us at the largest one.
func measureOnEtcd(ctx context.Context, s *scaling) error {
	for _, side := range []struct {
		name  string
		start func(etcd string) (measure.Server, error)
		part  int
	}{{"kube-apiserver", s.startKube, 10}, {"on etcd v3", s.startOnEtcd, 10}, {"on etcd v3", s.startOnEtcd, 1}} {
		etcd, err := s.startEtcd()
		if err != nil {
			return err
		}
		server, err := side.start(etcd)
		if err != nil {
			return err
		}
		if err := s.measure(ctx, side.name, load{nodes: s.nodes / side.part, speed: 1, duration: s.minute}, server); err != nil {
			return err
		}
	}
	return nil
}

// measureSeveral spreads the load over servers of one etcd, and kills one of three.
func measureSeveral(ctx context.Context, s *scaling) error {
	for n := 1; n <= 3; n++ {
		etcd, err := s.startEtcd()
		if err != nil {
			return err
		}
		var servers []measure.Server
		for range n {
			server, err := s.startOnEtcd(etcd)
			if err != nil {
				return err
			}
			servers = append(servers, server)
		}
		if err := s.measure(ctx, "on etcd v3", load{nodes: s.nodes / 5, speed: 1, duration: s.minute, kills: n == 3}, servers...); err != nil {
			return err
		}
	}
	return nil
}
