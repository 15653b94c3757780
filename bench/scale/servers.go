package main

import (
	"os"
	"path/filepath"
	"slices"

	"kube2014/bench/measure"
)

const (
	token         = "scale"
	authorization = "Authorization: Bearer " + token // our insecure port passes over it
)

// withoutAccounts are flags of both programs: no controller makes service accounts.
var withoutAccounts = []string{"--disable-admission-plugins", "ServiceAccount"}

// inFlight are flags of both programs, for many nodes as in the tests of Kubernetes itself.
var inFlight = []string{"--max-requests-inflight", "3000", "--max-mutating-requests-inflight", "1000"}

// start starts our program, with one more variable in its environment if there is one.
func (s *scaling) start(variable string, args ...string) (measure.Server, error) {
	flags := slices.Concat([]string{"-port", "0", "-machines", "m0001", "-scheduler", "none", "-profiling"}, withoutAccounts, inFlight, args)
	if variable != "" {
		return s.Start("env", slices.Concat([]string{variable, s.apiserver}, flags)...) // it becomes the program
	}
	return s.Start(s.apiserver, flags...)
}

func (s *scaling) startOnEtcd(etcd string) (measure.Server, error) {
	return s.start("", "-etcd_servers", etcd, "-storage_backend", "etcd3")
}

func (s *scaling) startKube(etcd string) (measure.Server, error) {
	dir, err := os.MkdirTemp(s.Dir, "kube")
	if err != nil {
		return measure.Server{}, err
	}
	flags, err := measure.KubeFlags(dir, etcd, token+",admin,1,system:masters\n", "--authorization-mode", "AlwaysAllow")
	if err != nil {
		return measure.Server{}, err
	}
	p := measure.Process{Server: measure.Server{TLS: true}}
	err = p.Start(s.Run, filepath.Join(s.programs, "kube-apiserver"), slices.Concat(flags, withoutAccounts, inFlight), "--secure-port", authorization)
	return p.Server, err
}

// startEtcd starts an etcd that may have 8 GB, and returns its URL.
func (s *scaling) startEtcd() (string, error) {
	return s.StartEtcd("--quota-backend-bytes", "8589934592")
}
