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

	name   string
	binary string
	args   []string
	cmd    *exec.Cmd
	exited chan struct{}
	log    *bytes.Buffer
}

// hangs is how long nothing happens until it is taken for an error.
const hangs = 5 * time.Minute

// errPortTaken is why a member does not start when another process has got one of
// its ports first.
var errPortTaken = errors.New("another process has the port of an etcd")

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
func StartCluster(dir string, n int, flags ...string) (servers []*Server, err error) {
	err = errPortTaken
	for try := 0; errors.Is(err, errPortTaken) && try < 10; try++ {
		var ports []int
		if ports, err = freePorts(2 * n); err == nil {
			servers, err = startOn(ports, dir, flags)
		}
	}
	return servers, err
}

// startOn starts a member on each two of the ports. No member waits for the disk: what
// it has acknowledged outlives the process, but not the machine.
func startOn(ports []int, dir string, flags []string) (servers []*Server, err error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	var cluster []string
	for i := 0; i < len(ports); i += 2 {
		client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[i]), fmt.Sprintf("http://127.0.0.1:%d", ports[i+1])
		name := fmt.Sprintf("member-%x", rand.Uint64()) // nobody else's
		servers = append(servers, &Server{URL: client, name: name, binary: binary, args: []string{
			"--name", name, "--data-dir", filepath.Join(dir, name), "--enable-v2=true", "--log-level", "error", "--unsafe-no-fsync",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--heartbeat-interval", "50", "--election-timeout", "500",
		}})
		cluster = append(cluster, name+"="+peer)
	}
	for i, server := range servers {
		server.args = append(append(server.args, "--initial-cluster", strings.Join(cluster, ",")), flags...)
		if err := server.Restart(); err != nil {
			return nil, errors.Join(err, stopAll(servers[:i]))
		}
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
// there is a leader, and will not write anything by itself any more; or until it
// answers that it does not serve the API.
func (s *Server) Ready() error {
	client := &http.Client{Timeout: hangs / 10, Transport: &http.Transport{DisableKeepAlives: true}}
	for end := time.Now().Add(hangs); ; time.Sleep(20 * time.Millisecond) {
		err := s.answers(client)
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			if strings.Contains(s.log.String(), "address already in use") {
				return errPortTaken
			}
			return fmt.Errorf("etcd ended: %s", s.log)
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("etcd does not answer: %w", err)
		}
	}
}

func (s *Server) answers(client *http.Client) error {
	status, _, err := get(client, s.URL+"/v2/keys/?quorum=true")
	if err != nil || status == http.StatusNotFound {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("it answered %d", status)
	}
	if _, self, err := get(client, s.URL+"/v2/stats/self"); err != nil || !strings.Contains(self, s.name) {
		return errors.Join(errors.New("it is another one"), err)
	}
	// What it writes by itself, at last, is the version of its cluster.
	if _, version, err := get(client, s.URL+"/version"); err != nil || strings.Contains(version, "not_decided") {
		return errors.Join(errors.New("its cluster has no version"), err)
	}
	return nil
}

func get(client *http.Client, url string) (status int, body string, err error) {
	resp, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
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
	for {
		var status syscall.WaitStatus
		switch _, err := syscall.Wait4(s.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case status.Stopped():
			return nil
		default:
			return errors.New("etcd ended instead of stopping")
		}
	}
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
