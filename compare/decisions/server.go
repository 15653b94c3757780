package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"kube2014/bench/measure"
	"kube2014/pkg/etcd/etcdtest"
)

const (
	token    = "decisions"            // of a user in system:masters
	patience = time.Minute            // with a server that does not get ready, or does not end
	pause    = 100 * time.Millisecond // between two tries
)

// server is a kube-apiserver that runs.
type server struct {
	caller
	ended chan struct{}
	log   string // its file
	stop  func()
}

var errEnded = errors.New("it has ended")

// start starts a kube-apiserver on an etcd of its own. It returns when the server is ready, and
// errEnded if it ends instead.
func (r *recorder) start(ctx context.Context, authorization ...string) (*server, error) {
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
	if err := writeCredentials(dir); err != nil {
		return nil, err
	}
	port, err := measure.FreePort()
	if err != nil {
		return nil, err
	}
	s := &server{caller: newCaller("https://" + net.JoinHostPort("127.0.0.1", port)), ended: make(chan struct{}), log: filepath.Join(dir, "log")}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(r.programs, "kube-apiserver"), append(args(dir, etcd.URL, port), authorization...)...)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // the log tells why it ended
		close(s.ended)
	}()
	s.stop = sync.OnceFunc(func() {
		stop(cmd, s.ended)
		stopEtcd()
	})
	r.AtEnd(s.stop)
	if err := s.until(ctx, func() (bool, error) { return s.isReady(ctx) }); err != nil {
		s.stop()
		text, _ := os.ReadFile(s.log)
		return s, fmt.Errorf("kube-apiserver does not get ready: %w: %s", err, text[max(0, len(text)-2000):])
	}
	return s, nil
}

func args(dir, etcd, port string) []string {
	key := filepath.Join(dir, "key.pem")
	return []string{
		"--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", dir, "--token-auth-file", filepath.Join(dir, "tokens.csv"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount,NamespaceLifecycle",
	}
}

func writeCredentials(dir string) error {
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
	return os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(token+",admin,1,system:masters\n"), 0o600)
}

func stop(cmd *exec.Cmd, ended chan struct{}) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-ended
	}
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
		case <-s.ended:
			return errEnded
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
