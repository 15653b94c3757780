package main

import (
	"context"
	"fmt"

	"kube2014/bench/measure"
)

// A group measures some clusters.
var groups = []struct {
	name    string
	measure func(context.Context, *scaling) error
}{
	{"growth", measureGrowth},
	{"etcd", measureOnEtcd},
	{"several", measureSeveral},
}

const (
	inMemory      = "in memory"
	onEtcd3       = "etcd v3"
	kubeAPIServer = "kube-apiserver"
)

// measureGrowth measures clusters of several sizes in memory, at the speed of the clock, and the largest one again with less and
// with more room for garbage. With more room it also goes faster: at last it does in ten minutes what it does in an hour.
func measureGrowth(ctx context.Context, s *scaling) error {
	atTheClock := pace{1, s.minute}
	anHour := []pace{atTheClock, {2, s.minute}, {4, s.minute}, {6, 10 * s.minute}}
	for _, of := range []struct {
		gogc  string
		part  int
		paces []pace
	}{
		{"", 10, []pace{atTheClock}},
		{"", 4, []pace{atTheClock}},
		{"", 2, []pace{atTheClock}},
		{"", 1, []pace{atTheClock}},
		{"GOGC=50", 1, []pace{atTheClock}},
		{"GOGC=300", 1, anHour},
	} {
		where := inMemory
		if of.gogc != "" {
			where += ", " + of.gogc
		}
		server, err := s.start(of.gogc)
		if err != nil {
			return err
		}
		if err := s.measure(ctx, where, load{nodes: s.nodes / of.part, paces: of.paces}, server); err != nil {
			return err
		}
	}
	return nil
}

// measureOnEtcd compares us on etcd with kube-apiserver at sizes that it bears, and measures us at the largest one.
func measureOnEtcd(ctx context.Context, s *scaling) error {
	for _, side := range []struct {
		name  string
		start func(etcd string) (measure.Server, error)
		part  int
	}{
		{kubeAPIServer, s.startKube, 20}, {onEtcd3, s.startOnEtcd, 20},
		{kubeAPIServer, s.startKube, 10}, {onEtcd3, s.startOnEtcd, 10},
		{onEtcd3, s.startOnEtcd, 4}, {onEtcd3, s.startOnEtcd, 1},
	} {
		etcd, err := s.startEtcd()
		if err != nil {
			return err
		}
		server, err := side.start(etcd)
		if err != nil {
			return err
		}
		if err := s.measure(ctx, side.name, load{nodes: s.nodes / side.part, paces: []pace{{1, s.minute}}}, server); err != nil {
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
		where := fmt.Sprintf("%d on %s", n, onEtcd3)
		if n == 3 {
			where += ", one killed"
		}
		if err := s.measure(ctx, where, load{nodes: s.nodes / 5, paces: []pace{{1, s.minute}}, kills: n == 3}, servers...); err != nil {
			return err
		}
	}
	return nil
}
