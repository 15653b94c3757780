package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kube2014/bench/measure"
	"kube2014/pkg/etcd/etcdtest"
)

const (
	token    = "decisions"            // of a user in system:masters
	patience = time.Minute            // with a server that does not know something yet
	pause    = 100 * time.Millisecond // between two tries
)

// server is a kube-apiserver that runs.
type server struct {
	caller
	stop func()
}

// start starts a kube-apiserver on an etcd of its own. It returns when the server is ready, and
// measure.ErrEnded if it ends instead.
func (r *recorder) start(authorization ...string) (*server, error) {
	etcd, err := etcdtest.Start(r.Dir)
	if err != nil {
		return nil, err
	}
	stopEtcd := sync.OnceFunc(func() { _ = etcd.Kill() }) // it was only for this
	r.AtEnd(stopEtcd)
	dir, err := os.MkdirTemp(r.Dir, "kube")
	if err != nil {
		return nil, err
	}
	flags, err := measure.KubeFlags(dir, etcd.URL, token+",admin,1,system:masters\n", authorization...)
	if err != nil {
		return nil, err
	}
	p := measure.Process{Server: measure.Server{TLS: true}}
	err = p.Start(r.Run, filepath.Join(r.programs, "kube-apiserver"), slices.Concat(flags, []string{"--disable-admission-plugins", "ServiceAccount,NamespaceLifecycle"}),
		"--secure-port", "Authorization: Bearer "+token)
	if err != nil {
		stopEtcd()
		return nil, err
	}
	return &server{newCaller("https://" + p.Address), func() {
		p.Stop()
		stopEtcd()
	}}, nil
}

// until tries something until it is done.
func (s *server) until(ctx context.Context, try func() (done bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
