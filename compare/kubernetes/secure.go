package main

import (
	"fmt"
	"path/filepath"

	"kube2014/bench/measure"
)

const (
	secureInMemory = "in memory, no machines"
	secureOnEtcd3  = "on etcd v3, no machines"
	readerToken    = "reader" // of a user who may read pods, by a role
)

// secureSides returns kube-apiserver, which is the first, and ours, each with its secure port only,
// the same tokens, and RBAC. None of them runs.
func (c *comparison) secureSides() ([]*side, error) {
	url, err := c.startEtcd()
	if err != nil {
		return nil, err
	}
	theirs, dir, err := c.kubeAPIServer(url, "RBAC")
	if err != nil {
		return nil, err
	}
	secure := func(name, backend string, args ...string) *side {
		s := c.ours(name, backend, append(args, "-scheduler", "none", "-insecure=false", "-bind_address", "127.0.0.1", "-cert_dir", filepath.Join(dir, "ours"),
			"-token_auth_file", filepath.Join(dir, "tokens.csv"), "-authorization_mode", "RBAC")...)
		s.port, s.TLS = "-secure_port", true
		return s
	}
	return []*side{theirs, secure(secureInMemory, ""), secure(secureOnEtcd3, "etcd3", "-etcd_servers", url, "-etcd_prefix", "/kube2014")}, nil
}

// letRead lets the reader read pods, of which there is one then.
func (s *side) letRead() error {
	const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/"
	for path, body := range map[string]string{
		roles + "roles": `{"metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}]}`,
		roles + "rolebindings": `{"metadata":{"name":"reader"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"reader"}]}`,
	} {
		if _, err := s.ask("POST", path, []byte(body)); err != nil {
			return err
		}
	}
	return s.create(0, 1)
}

// measureSecure measures what it costs to know who asks, and whether they may.
func measureSecure(c *comparison, others []*side) error {
	for _, other := range others {
		other.stop()
	}
	sides, err := c.secureSides()
	if err != nil {
		return err
	}
	for _, s := range sides {
		if err := c.start(s); err != nil {
			return err
		}
		if err := s.letRead(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	get := measure.Request("GET", podsPath+"/"+podName(0), nil, "Authorization: Bearer "+readerToken)
	return c.byTurns(sides, measurement{"GET of a pod over TLS, by a token and a role, 16 connections", "a second", inMemory(atLeast(5)), func(s *side, _ int) (float64, error) {
		return s.Throughput(connections, get, getsLast)
	}})
}
