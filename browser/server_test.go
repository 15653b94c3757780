package browser

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hangs is how long nothing happens until it is taken for an error.
const hangs = time.Minute

// server is the program as a process, at an address that it keeps when it is started again.
type server struct {
	program string
	args    []string
	url     string
	token   string // "" for none
	process *exec.Cmd
	log     *bytes.Buffer // guarded by mu
	mu      sync.Mutex
}

// startServer starts the program of make build, which ends with the test. In args, PORT is a free port.
func startServer(t *testing.T, args ...string) *server {
	program, err := filepath.Abs("../bin/apiserver")
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	require.NoError(t, listener.Close())
	s := &server{program: program}
	for _, arg := range args {
		s.args = append(s.args, strings.ReplaceAll(arg, "PORT", port))
	}
	s.start(t)
	t.Cleanup(s.kill)
	return s
}

// startCluster starts the program with all parts but the proxies, which nobody asks here.
func startCluster(t *testing.T, machines []string, args ...string) *server {
	return startServer(t, append([]string{"-port", "PORT", "-run", "apiserver,scheduler,controller_manager,kubelet", "-kubelet_port", "0",
		"-machines", strings.Join(machines, ","), "-cluster_cidr", "127.64.0.0/10"}, args...)...)
}

// start starts the process, or starts it again, and waits until it serves.
func (s *server) start(t *testing.T) {
	s.url = s.run(t, s.program, `serves (https?://[^/]+)/`, s.args...)
}

// run starts a process, and waits for a line of its log, of which it returns the first submatch.
func (s *server) run(t *testing.T, program, pattern string, args ...string) string {
	s.process, s.log = exec.Command(program, args...), new(bytes.Buffer)
	stderr, err := s.process.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.process.Start())
	found := make(chan string, 1)
	go func() {
		wanted := regexp.MustCompile(pattern)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			s.mu.Lock()
			s.log.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			if match := wanted.FindStringSubmatch(lines.Text()); match != nil {
				select {
				case found <- match[1]:
				default:
				}
			}
		}
	}()
	select {
	case match := <-found:
		return match
	case <-time.After(hangs):
		s.mu.Lock()
		defer s.mu.Unlock()
		require.FailNow(t, "it does not start", s.log.String())
		return ""
	}
}

// kill ends the process at once, as a crash would.
func (s *server) kill() {
	_ = s.process.Process.Kill() // it may have ended
	_ = s.process.Wait()
}

// client trusts the certificate that the test itself has made.
var client = &http.Client{Timeout: hangs, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// try sends a request, and returns the answer, whatever it is.
func (s *server) try(method, path, body string) (status int, text string, err error) {
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", map[bool]string{true: "application/merge-patch+json", false: "application/json"}[method == http.MethodPatch])
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	answer, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(read), err
}

// send sends a request that has to succeed.
func (s *server) send(t *testing.T, method, path, body string) string {
	t.Helper()
	status, text, err := s.try(method, path, body)
	require.NoError(t, err)
	require.Less(t, status, 300, "%s %s: %s", method, path, text)
	return text
}

const (
	pods        = "/api/v1/namespaces/default/pods"
	controllers = "/api/v1/namespaces/default/replicationcontrollers"
	services    = "/api/v1/namespaces/default/services"
)

func (s *server) createPod(t *testing.T, name string) {
	t.Helper()
	s.send(t, "POST", pods, fmt.Sprintf(`{"metadata": {"name": %q}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}`, name))
}

func (s *server) createController(t *testing.T, name string, replicas int) {
	t.Helper()
	s.send(t, "POST", controllers, fmt.Sprintf(`{"metadata": {"name": %[1]q}, "spec": {"replicas": %d, "selector": {"app": %[1]q}, "template": {
		"metadata": {"labels": {"app": %[1]q}}, "spec": {"containers": [{"name": "main", "image": "nginx", "ports": [{"containerPort": 80}]}]}}}}`, name, replicas))
}

func (s *server) createService(t *testing.T, name string) {
	t.Helper()
	s.send(t, "POST", services, fmt.Sprintf(`{"metadata": {"name": %[1]q}, "spec": {"selector": {"app": %[1]q}, "ports": [{"port": 8000, "targetPort": 80}]}}`, name))
}

// someMachines returns loopback addresses.
func someMachines(n int) (machines []string) {
	for i := range n {
		machines = append(machines, fmt.Sprintf("127.0.%d.%d", i/200, 1+i%200))
	}
	return machines
}
