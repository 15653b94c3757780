package etcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is one member of a real etcd, a process of its own.
type Server struct {
	URL string // where clients reach it

	binary string
	args   []string
	cmd    *exec.Cmd
	exited chan struct{}
	log    *bytes.Buffer
}

// startTimeout bounds how long a member may take until it answers.
const startTimeout = 30 * time.Second

// Start starts an etcd of one member with its data in dir. It returns when the
// member answers. The caller stops it with Kill.
func Start(dir string, flags ...string) (*Server, error) {
	servers, err := StartCluster(dir, 1, flags...)
	if err != nil {
		return nil, err
	}
	return servers[0], nil
}

// StartCluster starts an etcd of n members with their data in dir. It returns
// when all of them answer.
func StartCluster(dir string, n int, flags ...string) ([]*Server, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2 * n)
	if err != nil {
		return nil, err
	}
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf("member%d=http://127.0.0.1:%d", i, ports[2*i+1]))
	}
	var servers []*Server
	for i := range n {
		name := fmt.Sprintf("member%d", i)
		client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[2*i]), fmt.Sprintf("http://127.0.0.1:%d", ports[2*i+1])
		server := &Server{URL: client, binary: binary, args: append([]string{
			"--name", name, "--data-dir", filepath.Join(dir, name), "--enable-v2=true", "--log-level", "error",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(members, ","), "--heartbeat-interval", "50", "--election-timeout", "500",
		}, flags...)}
		if err := server.Restart(); err != nil {
			return nil, errors.Join(err, stopAll(servers))
		}
		servers = append(servers, server)
	}
	for _, server := range servers {
		if err := server.Ready(); err != nil {
			return nil, errors.Join(err, stopAll(servers))
		}
	}
	return servers, nil
}

func stopAll(servers []*Server) error {
	var failures []error
	for _, server := range servers {
		failures = append(failures, server.Kill())
	}
	return errors.Join(failures...)
}

// Restart starts the member, which is not running, on its old data. It does not
// wait for it.
func (s *Server) Restart() error {
	s.log = &bytes.Buffer{}
	s.cmd = exec.Command(s.binary, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // whoever stopped it reports how
		close(exited)
	}(s.cmd, s.exited)
	return nil
}

// Ready waits until the member answers on the v2 keys API, which it does once
// there is a leader; or until it answers that it does not serve it.
func (s *Server) Ready() error {
	timeout := time.After(startTimeout)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		resp, err := http.Get(s.URL + "/v2/keys/?quorum=true")
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // the status is the answer
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNotFound {
				return nil
			}
		}
		select {
		case <-s.exited:
			return fmt.Errorf("etcd ended: %s", s.log)
		case <-timeout:
			return fmt.Errorf("etcd does not answer: %w", err)
		case <-ticker.C:
		}
	}
}

// Kill ends the member at once, as a crash would.
func (s *Server) Kill() error {
	err := s.cmd.Process.Kill()
	<-s.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Pause suspends the member's process: the member hangs when this returns.
func (s *Server) Pause() error {
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	impatient := &http.Client{Timeout: 100 * time.Millisecond}
	for range 100 {
		resp, err := impatient.Get(s.URL + "/version")
		if err != nil {
			return nil
		}
		resp.Body.Close()
	}
	return errors.New("etcd does not stop")
}

// Resume lets a paused member go on.
func (s *Server) Resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }

// given are the ports that freePorts has returned to this process.
var given = struct {
	mu    sync.Mutex // guards ports
	ports map[int]bool
}{ports: map[int]bool{}}

// freePorts returns free ports of 127.0.0.1, each only once. They are below the
// ephemeral ports, so no other socket takes the port of a member that is down.
func freePorts(n int) ([]int, error) {
	given.mu.Lock()
	defer given.mu.Unlock()
	var ports []int
	for range 1000 * n {
		port := 15000 + rand.IntN(17000)
		if given.ports[port] || !isFree(port) {
			continue
		}
		given.ports[port] = true
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no port of 127.0.0.1 from 15000 to 31999 is free")
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// Binary returns the path of the etcd that tools/go.mod pins, and builds it
// when it is not there yet: bin/etcd.
var Binary = sync.OnceValues(func() (string, error) {
	root, err := projectRoot()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, "bin", "etcd")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	// Another test may be building it too: the last rename wins, and all are the same.
	building := fmt.Sprintf("%s.%d", binary, os.Getpid())
	build := exec.Command("go", "build", "-modfile=tools/go.mod", "-o", building, "go.etcd.io/etcd/server/v3")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building etcd: %w\n%s", err, output)
	}
	return binary, os.Rename(building, binary)
})

// projectRoot is the folder of go.mod, from wherever in it a test runs.
func projectRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("there is no go.mod above the test")
		}
		dir = parent
	}
}
