package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kube2014/bench/measure"
)

const machines = 100

// side is a server that is compared: kube-apiserver, or ours in one of some ways.
type side struct {
	name    string
	program string
	args    []string // but for the port
	port    string   // the flag for it
	backend string   // of etcd; "" in memory
	audit   string   // the file of its audit; "" for none
	measure.Process
}

const (
	inMemory      = "in memory"
	onEtcd2       = "on etcd v2"
	onEtcd3       = "on etcd v3"
	kubeAPIServer = "kube-apiserver"
	onNothing     = "bare"
	token         = "compare" // any will do that it knows
	tokens        = token + ",admin,1\n"
	patience      = time.Minute          // with what a server does soon
	pause         = 2 * time.Millisecond // between two tries
	authorization = "Authorization: Bearer " + token
)

// sides returns kube-apiserver, which is the first, and ours. None of them runs.
func (c *comparison) sides() ([]*side, error) {
	shared, err := c.StartEtcd()
	if err != nil {
		return nil, err
	}
	theirs, _, err := c.kubeAPIServer(shared, "AlwaysAllow", tokens)
	if err != nil {
		return nil, err
	}
	url, err := c.StartEtcd()
	if err != nil {
		return nil, err
	}
	return []*side{
		theirs,
		c.ours(inMemory, "", "-machines", machineNames()),
		c.ours(onEtcd2, "etcd2", "-machines", machineNames(), "-etcd_servers", url),
		c.ours(onEtcd3, "etcd3", "-machines", machineNames(), "-etcd_servers", shared, "-etcd_prefix", "/kube2014"),
	}, nil
}

func (c *comparison) ours(name, backend string, args ...string) *side {
	if backend != "" {
		args = append(args, "-storage_backend", backend)
	}
	return &side{name: name, program: filepath.Join(c.programs, "apiserver"), args: append(args, withoutAccounts...), port: "-port", backend: backend}
}

// withoutAccounts are the flags of both servers that keep service accounts out of pods: kube-apiserver alone makes none.
var withoutAccounts = []string{"--disable-admission-plugins", "ServiceAccount"}

// kubeAPIServer returns a kube-apiserver on an etcd, and the folder of its files.
func (c *comparison) kubeAPIServer(url, mode, tokens string) (s *side, dir string, err error) {
	if dir, err = os.MkdirTemp(c.Dir, "kube"); err != nil {
		return nil, "", err
	}
	flags, err := measure.KubeFlags(dir, url, tokens, "--authorization-mode", mode)
	if err != nil {
		return nil, "", err
	}
	return &side{name: kubeAPIServer, program: filepath.Join(c.programs, "kube-apiserver"), args: append(flags, withoutAccounts...), port: "--secure-port",
		Process: measure.Process{Server: measure.Server{TLS: true}}}, dir, nil
}

func machineNames() string {
	var names []string
	for i := range machines {
		names = append(names, fmt.Sprintf("m%04d", i+1))
	}
	return strings.Join(names, ",")
}

// start starts a side. It returns when the server is ready and has a namespace for pods,
// which kube-apiserver makes a moment later.
func (c *comparison) start(s *side) error {
	if err := s.Start(c.Run, s.program, s.args, s.port, authorization); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	end := time.Now().Add(patience)
	for {
		_, err := s.ask("GET", "/api/v1/namespaces/default", nil)
		if err == nil || time.Now().After(end) {
			return err
		}
		time.Sleep(pause)
	}
}

// ask sends one request on a connection of its own.
func (s *side) ask(method, path string, body []byte) ([]byte, error) {
	c, err := s.Dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Do(request(method, path, body), true)
}
