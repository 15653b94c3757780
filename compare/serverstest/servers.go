// Package serverstest starts servers for tests that compare ours with today's kube-apiserver.
package serverstest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/bench/measure"
	"kube2014/pkg/etcd/etcdtest"
)

const (
	token  = "kube2014"         // of a user in system:masters
	hangs  = 5 * time.Minute    // how long nothing happens until it is taken for an error
	pause  = time.Millisecond   // between two tries
	bin    = "../../bin"        // with programs
	all    = "system:masters"   // a group that may do everything
	onJSON = "application/json" // a content type
)

// Server is a process that serves the API, ours or kube-apiserver.
type Server struct {
	Name, URL, Token string
	PID              int
	Ready            time.Duration // from the start
	Client           *http.Client
	Stop             func()
}

// OurProgram is built anew, as make build does: what is in bin may be old.
func OurProgram(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "apiserver")
	build := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", program, "../../cmd/apiserver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}

// InMemory starts our program.
func InMemory(t *testing.T, program string, flags ...string) *Server {
	return ours(t, program, "ours in memory", flags...)
}

// OnEtcd starts our program on an etcd.
func OnEtcd(t *testing.T, program, etcd string, flags ...string) *Server {
	return ours(t, program, "ours on etcd", append([]string{"-etcd_servers", etcd, "-storage_backend", "etcd3"}, flags...)...)
}

func ours(t *testing.T, program, name string, flags ...string) *Server {
	port, err := measure.FreePort()
	require.NoError(t, err)
	s := &Server{Name: name, URL: "http://" + net.JoinHostPort("127.0.0.1", port)}
	s.start(t, program, append([]string{"-port", port}, flags...)...)
	return s
}

// AsKubeAPIServer starts our program under that name, with TLS: its flags are today's, and objects are in memory.
func AsKubeAPIServer(t *testing.T, program string, flags ...string) *Server {
	dir := t.TempDir()
	renamed := filepath.Join(dir, "kube-apiserver")
	require.NoError(t, os.Link(program, renamed))
	port, err := measure.FreePort()
	require.NoError(t, err)
	s := &Server{Name: "ours as kube-apiserver", URL: "https://" + net.JoinHostPort("127.0.0.1", port), Token: token}
	s.start(t, renamed, append([]string{"--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", dir, "--token-auth-file", tokens(t, dir)}, flags...)...)
	return s
}

// tokens writes a file with the token of an administrator.
func tokens(t *testing.T, dir string) string {
	file := filepath.Join(dir, "tokens.csv")
	require.NoError(t, os.WriteFile(file, []byte(token+",admin,1,"+all+"\n"), 0o600))
	return file
}

// StartEtcd starts an etcd that ends with the test, and returns its URL.
func StartEtcd(t *testing.T) string {
	etcd, err := etcdtest.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = etcd.Kill() })
	return etcd.URL
}

// Todays starts kube-apiserver on an etcd.
func Todays(t *testing.T, etcd string) *Server { return TodaysWith(t, etcd, token) }

// TodaysWith starts it with more flags, of which --token-auth-file has the token of a user who may do everything.
func TodaysWith(t *testing.T, etcd, token string, flags ...string) *Server {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	keyFile := filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	port, err := measure.FreePort()
	require.NoError(t, err)
	s := &Server{Name: "kube-apiserver", URL: "https://" + net.JoinHostPort("127.0.0.1", port), Token: token}
	s.start(t, filepath.Join(bin, "kube-apiserver"), append([]string{"--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", dir,
		"--token-auth-file", tokens(t, dir), "--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", keyFile, "--service-account-signing-key-file", keyFile,
		"--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount"}, flags...)...)
	return s
}

// start starts the program, and returns when the server is ready and has its first namespace.
func (s *Server) start(t *testing.T, program string, args ...string) {
	var log bytes.Buffer
	command := exec.Command(program, args...)
	command.Stderr = &log
	begin := time.Now()
	require.NoError(t, command.Start())
	ended := make(chan struct{})
	go func() {
		_ = command.Wait() // the log tells why it ended
		close(ended)
	}()
	s.Stop = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		<-ended
		if t.Failed() {
			text := log.String()
			t.Logf("the end of the log of %s:\n%s", s.Name, text[max(0, len(text)-2000):])
		}
	})
	t.Cleanup(s.Stop)
	s.PID = command.Process.Pid
	s.Client = NewClient()
	Eventually(t, s.Name+" is ready", func() bool {
		select {
		case <-ended:
			require.Fail(t, s.Name+" ended", log.String())
		default:
		}
		return s.Finds("/readyz")
	})
	s.Ready = time.Since(begin)
	Eventually(t, s.Name+" has a namespace", func() bool { return s.Finds("/api/v1/namespaces/default") })
}

// NewClient returns a client that trusts every server.
func NewClient() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 16}}
}

// Finds reports whether there is something at a path.
func (s *Server) Finds(path string) bool {
	found, err := s.Try(Request{Method: http.MethodGet, Path: path})
	return err == nil && found.Status == http.StatusOK
}

// Eventually waits for a condition that another process brings about.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(hangs); !condition(); time.Sleep(pause) {
		require.True(t, time.Now().Before(end), what)
	}
}

// Request is what a client sends.
type Request struct {
	Method, Path string
	ContentType  string // JSON, if it is empty
	Accept       string
	Agent        string // the client's program
	Body         []byte
}

// Answer is what it gets.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Try sends a request.
func (s *Server) Try(r Request) (Answer, error) {
	sent, err := http.NewRequest(r.Method, s.URL+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, err
	}
	sent.Header.Set("Content-Type", r.ContentType)
	if r.ContentType == "" {
		sent.Header.Set("Content-Type", onJSON)
	}
	if r.Agent != "" {
		sent.Header.Set("User-Agent", r.Agent)
	}
	if r.Accept != "" {
		sent.Header.Set("Accept", r.Accept)
	}
	if s.Token != "" {
		sent.Header.Set("Authorization", "Bearer "+s.Token)
	}
	got, err := s.Client.Do(sent)
	if err != nil {
		return Answer{}, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	return Answer{got.StatusCode, got.Header, body}, err
}

// Do sends a request that must be answered.
func (s *Server) Do(t *testing.T, r Request) Answer {
	got, err := s.Try(r)
	require.NoError(t, err, "%s: %s %s", s.Name, r.Method, r.Path)
	return got
}
