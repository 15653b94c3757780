package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kube2014/bench/measure"
	"kube2014/pkg/etcd/etcdtest"
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
	process
}

const (
	inMemory      = "in memory"
	onEtcd2       = "on etcd v2"
	onEtcd3       = "on etcd v3"
	kubeAPIServer = "kube-apiserver"
	token         = "compare" // any will do that it knows
	tokens        = token + ",admin,1\n"
)

// sides returns kube-apiserver, which is the first, and ours. None of them runs.
func (c *comparison) sides() ([]*side, error) {
	shared, err := c.startEtcd()
	if err != nil {
		return nil, err
	}
	theirs, _, err := c.kubeAPIServer(shared, "AlwaysAllow", tokens)
	if err != nil {
		return nil, err
	}
	url, err := c.startEtcd()
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
	if err := writeCredentials(dir, tokens); err != nil {
		return nil, "", err
	}
	return &side{name: kubeAPIServer, program: filepath.Join(c.programs, "kube-apiserver"), args: kubeArgs(dir, url, mode), port: "--secure-port",
		process: process{Server: measure.Server{TLS: true}}}, dir, nil
}

func kubeArgs(dir, etcd, mode string) []string {
	key := filepath.Join(dir, "key.pem")
	return append([]string{
		"--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--cert-dir", dir, "--token-auth-file", filepath.Join(dir, "tokens.csv"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--service-cluster-ip-range", "10.0.0.0/24", "--authorization-mode", mode,
	}, withoutAccounts...)
}

// writeCredentials writes the files that kubeArgs names: a key for the tokens of service
// accounts, and who comes with a token. A certificate kube-apiserver makes itself.
func writeCredentials(dir, tokens string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), text, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(tokens), 0o600)
}

// startEtcd starts an etcd that waits for the disk, and returns its URL.
func (c *comparison) startEtcd() (string, error) {
	etcd, err := etcdtest.Start(c.Dir, "--unsafe-no-fsync=false")
	if err != nil {
		return "", err
	}
	c.AtEnd(func() { _ = etcd.Kill() }) // it was only for this
	return etcd.URL, nil
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
	if err := s.process.start(c, s.program, s.args, s.port); err != nil {
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
