package etcdtest

import (
	"bytes"
	"encoding/json"
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
	tls    *TLS // nil without
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
	servers, err := Setup{Flags: flags}.Start(dir)
	if err != nil {
		return nil, err
	}
	return servers[0], nil
}

// Setup is how an etcd is started. Its zero value is one member of the etcd that
// tools/go.mod pins, with both APIs.
type Setup struct {
	Version     string   // "3.4", "3.5" or "3.6"; 3.5, if it is empty
	Members     int      // 1, if it is 0
	NoV2        bool     // without the v2 API, as 3.6 is always
	TLS         *TLS     // for https, if it is not nil
	ClientCerts bool     // a client must have a certificate of the same TLS
	Flags       []string // besides
}

// Start starts the members with their data in dir. It returns when all of them answer.
// The caller stops them with Kill.
func (s Setup) Start(dir string) (servers []*Server, err error) {
	err = errPortTaken
	for try := 0; errors.Is(err, errPortTaken) && try < 10; try++ {
		var ports []int
		if ports, err = freePorts(2 * max(s.Members, 1)); err == nil {
			servers, err = s.startOn(ports, dir)
		}
	}
	return servers, err
}

// startOn starts a member on each two of the ports. No member waits for the disk, except
// 3.4, which would keep back what it has acknowledged: it outlives the process, but not
// the machine.
func (s Setup) startOn(ports []int, dir string) (servers []*Server, err error) {
	binaries := map[string]func() (string, error){"": Binary, "3.4": Binary34, "3.5": Binary, "3.6": Binary36}
	binary, err := binaries[s.Version]()
	if err != nil {
		return nil, err
	}
	flags, scheme := s.flags()
	var cluster []string
	for i := 0; i < len(ports); i += 2 {
		client, peer := fmt.Sprintf("%s://127.0.0.1:%d", scheme, ports[i]), fmt.Sprintf("http://127.0.0.1:%d", ports[i+1])
		name := fmt.Sprintf("member-%x", rand.Uint64()) // unique
		servers = append(servers, &Server{URL: client, name: name, tls: s.TLS, binary: binary, args: []string{
			"--name", name, "--data-dir", filepath.Join(dir, name), "--logger", "zap", "--log-level", "error",
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

func (s Setup) flags() (flags []string, scheme string) {
	scheme = "http"
	if !s.NoV2 && s.Version != "3.6" {
		flags = append(flags, "--enable-v2=true")
	}
	if s.Version != "3.4" {
		flags = append(flags, "--unsafe-no-fsync")
	}
	if s.TLS != nil {
		scheme = "https"
		flags = append(flags, "--cert-file", s.TLS.serverCert, "--key-file", s.TLS.serverKey)
	}
	if s.ClientCerts {
		flags = append(flags, "--client-cert-auth", "--trusted-ca-file", s.TLS.CAFile)
	}
	return append(flags, s.Flags...), scheme
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

// Ready waits until the member answers on the v3 API, which it does once there is a
// leader, and will not write anything by itself any more.
func (s *Server) Ready() error {
	client := s.httpClient()
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
	status, answer, err := send(client, http.MethodPost, s.URL+"/v3/kv/range", `{"key":"eA=="}`)
	switch {
	case err != nil:
		return err
	case wantsUser(answer): // the list of members needs a user, too
	case status != http.StatusOK:
		return fmt.Errorf("it answered %d: %s", status, answer)
	case !s.isItself(client):
		return errors.New("it is another one")
	}
	// What it writes by itself, at last, is the version of its cluster.
	if _, version, err := send(client, http.MethodGet, s.URL+"/version", ""); err != nil || strings.Contains(version, "not_decided") {
		return errors.Join(errors.New("its cluster has no version"), err)
	}
	return nil
}

// isItself reports whether the server at the URL has the member's name.
func (s *Server) isItself(client *http.Client) bool {
	_, answer, err := send(client, http.MethodPost, s.URL+"/v3/cluster/member/list", "{}")
	var listed struct {
		Header struct {
			ID string `json:"member_id"`
		}
		Members []struct{ ID, Name string }
	}
	if err != nil || json.Unmarshal([]byte(answer), &listed) != nil {
		return false
	}
	for _, member := range listed.Members {
		if member.ID == listed.Header.ID {
			return member.Name == s.name
		}
	}
	return false
}

func (s *Server) httpClient() *http.Client {
	transport := &http.Transport{DisableKeepAlives: true}
	if s.tls != nil {
		transport.TLSClientConfig = s.tls.client.Clone()
	}
	return &http.Client{Timeout: hangs / 10, Transport: transport}
}

func send(client *http.Client, method, url, body string) (status int, answer string, err error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(req)
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
