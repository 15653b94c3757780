package main

import (
	"os"
	"path/filepath"

	"kube2014/bench/measure"
	"kube2014/pkg/etcd/etcdtest"
)

const (
	token         = "scale"
	authorization = "Authorization: Bearer " + token // our insecure port passes over it
)

// withoutAccounts are flags of both programs: no controller makes service accounts.
var withoutAccounts = []string{"--disable-admission-plugins", "ServiceAccount"}

// start starts our program.
func (s *scaling) start(args ...string) (measure.Server, error) {
	return s.Start(s.apiserver, append(append([]string{"-port", "0", "-machines", "m0001", "-scheduler", "none", "-profiling"}, withoutAccounts...), args...)...)
}

func (s *scaling) startOnEtcd(etcd string) (measure.Server, error) {
	return s.start("-etcd_servers", etcd, "-storage_backend", "etcd3")
}

func (s *scaling) startKube(etcd string) (measure.Server, error) {
	dir, err := os.MkdirTemp(s.Dir, "kube")
	if err != nil {
		return measure.Server{}, err
	}
	flags, err := measure.KubeFlags(dir, etcd, "AlwaysAllow", token+",admin,1,system:masters\n")
	if err != nil {
		return measure.Server{}, err
	}
	p := measure.Process{Server: measure.Server{TLS: true}}
	err = p.Start(s.Run, filepath.Join(s.programs, "kube-apiserver"), append(flags, withoutAccounts...), "--secure-port", authorization)
	return p.Server, err
}

// startEtcd starts an etcd that waits for the disk and may have 8 GB, and returns its URL.
func (s *scaling) startEtcd() (string, error) {
	etcd, err := etcdtest.Start(s.Dir, "--unsafe-no-fsync=false", "--quota-backend-bytes", "8589934592")
	if err != nil {
		return "", err
	}
	s.AtEnd(func() { _ = etcd.Kill() }) // it was only for this
	return etcd.URL, nil
}
