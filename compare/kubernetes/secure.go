package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"kube2014/bench/measure"
)

const (
	readerToken = "reader" // of a user who may read pods, by a role

	// Who makes the objects may do everything, but only here: kube-apiserver queues nothing of
	// the group, which would be another measurement.
	secureTokens = token + ",admin,1,system:masters\n" + readerToken + ",reader,2\n"
)

var readersGet = measure.Request("GET", podsPath+"/"+podName(0), nil, "Authorization: Bearer "+readerToken)

// secureSides returns kube-apiserver, which is the first, and ours, each with its secure port only,
// the same tokens and certificate, which kube-apiserver makes when it starts, and RBAC; if they are
// audited, also with the same policy of an audit. None of
// them runs.
func (c *comparison) secureSides(audited bool) ([]*side, error) {
	url, err := c.StartEtcd()
	if err != nil {
		return nil, err
	}
	theirs, dir, err := c.kubeAPIServer(url, "RBAC", secureTokens)
	if err != nil {
		return nil, err
	}
	secure := func(name, backend string, args ...string) *side {
		s := c.ours(name, backend, append(args, "-scheduler", "none", "-insecure=false", "-bind_address", "127.0.0.1", "-tls_cert_file", filepath.Join(dir, "apiserver.crt"),
			"-tls_private_key_file", filepath.Join(dir, "apiserver.key"), "-token_auth_file", filepath.Join(dir, "tokens.csv"), "-authorization_mode", "RBAC")...)
		s.port, s.TLS = "-secure_port", true
		return s
	}
	sides := []*side{theirs, secure(inMemory, ""), secure(onEtcd3, "etcd3", "-etcd_servers", url, "-etcd_prefix", "/kube2014")}
	if !audited {
		return sides, nil
	}
	return sides, letAudit(dir, sides)
}

// letRead lets the reader read pods, of which there is one then. Before, the reader may not: a
// server that asks nobody would be fast.
func (s *side) letRead() error {
	if err := s.create(0, 1); err != nil {
		return err
	}
	if err := s.read(); !isForbidden(err) {
		return fmt.Errorf("without a role the reader is not forbidden to read: %w", cmp.Or(err, errAllowed))
	}
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
	end := time.Now().Add(patience) // kube-apiserver knows of them a moment later
	for {
		err := s.read()
		if !isForbidden(err) || time.Now().After(end) {
			return err
		}
		time.Sleep(pause)
	}
}

var errAllowed = errors.New("it is allowed")

// read gets the pod as the reader.
func (s *side) read() error {
	c, err := s.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Do(readersGet, false)
	return err
}

func isForbidden(err error) bool {
	var status measure.StatusError
	return errors.As(err, &status) && strings.HasPrefix(string(status), "403 ")
}

// measureSecure measures what it costs to know who asks, and whether they may, and then to write that
// down too.
func measureSecure(c *comparison, others []*side) error {
	for _, other := range others {
		other.Stop()
	}
	sides, err := c.measureGuarded(false, measurement{what: "GET over TLS, by token and role", goals: goals{inMemory: 5}})
	if err != nil {
		return err
	}
	for _, s := range sides {
		s.Stop()
	}
	_, err = c.measureGuarded(true, measurement{what: "the same with an audit", goals: goals{inMemory: 4}})
	return err
}

// measureGuarded measures gets of those who may, and returns the servers, which run.
func (c *comparison) measureGuarded(audited bool, m measurement) ([]*side, error) {
	sides, err := c.secureSides(audited)
	if err != nil {
		return nil, err
	}
	for _, s := range sides {
		if err := c.start(s); err != nil {
			return nil, err
		}
		if err := s.letRead(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if err := s.checkAudit(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	m.unit, m.of = perSecond, func(s *side, _ int) (float64, error) { return s.Throughput(connections, readersGet, getsLast) }
	return sides, c.byTurns(sides, m)
}
