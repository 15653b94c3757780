package crds

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
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
	variable = "KUBE2014_CRDS"    // make crds sets it
	token    = "kube2014"         // of a user in system:masters
	hangs    = 5 * time.Minute    // how long nothing happens until it is taken for an error
	pause    = time.Millisecond   // between two tries
	bin      = "../../bin"        // with programs
	all      = "system:masters"   // a group that may do everything
	onJSON   = "application/json" // a content type
	onYAML   = "application/yaml" // another
	asTable  = "application/json;as=Table;v=v1;g=meta.k8s.io"
	atCRDs   = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

func onlyIfAsked(t *testing.T) {
	if os.Getenv(variable) == "" {
		t.Skip("make crds runs it")
	}
}

// server is a process that serves the API, ours or kube-apiserver.
type server struct {
	name, url, token string
	pid              int
	ready            time.Duration // from the start
	client           *http.Client
	stop             func()
}

// ourProgram is built anew, as make build does: what is in bin may be old.
func ourProgram(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "apiserver")
	build := exec.Command("go", "build", "-tags", "grpcnotrace", "-o", program, "../../cmd/apiserver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}

// inMemory starts our program.
func inMemory(t *testing.T, program string) *server { return ours(t, program, "ours in memory") }

// onEtcd starts our program on an etcd.
func onEtcd(t *testing.T, program, etcd string) *server {
	return ours(t, program, "ours on etcd", "-etcd_servers", etcd, "-storage_backend", "etcd3")
}

func ours(t *testing.T, program, name string, flags ...string) *server {
	port, err := measure.FreePort()
	require.NoError(t, err)
	s := &server{name: name, url: "http://" + net.JoinHostPort("127.0.0.1", port)}
	s.start(t, program, append([]string{"-port", port, "-profiling"}, flags...)...)
	return s
}

// startEtcd starts an etcd that ends with the test, and returns its URL.
func startEtcd(t *testing.T) string {
	etcd, err := etcdtest.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = etcd.Kill() })
	return etcd.URL
}

// todays starts kube-apiserver on an etcd.
func todays(t *testing.T, etcd string) *server {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	keyFile, tokenFile := filepath.Join(dir, "key.pem"), filepath.Join(dir, "tokens.csv")
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(tokenFile, []byte(token+",admin,1,"+all+"\n"), 0o600))
	port, err := measure.FreePort()
	require.NoError(t, err)
	s := &server{name: "kube-apiserver", url: "https://" + net.JoinHostPort("127.0.0.1", port), token: token}
	s.start(t, filepath.Join(bin, "kube-apiserver"), "--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", dir,
		"--token-auth-file", tokenFile, "--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", keyFile, "--service-account-signing-key-file", keyFile,
		"--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount")
	return s
}

// start starts the program, and returns when the server is ready and has its first namespace.
func (s *server) start(t *testing.T, program string, args ...string) {
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
	s.stop = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		<-ended
		if t.Failed() {
			text := log.String()
			t.Logf("the end of the log of %s:\n%s", s.name, text[max(0, len(text)-2000):])
		}
	})
	t.Cleanup(s.stop)
	s.pid = command.Process.Pid
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 16}}
	eventually(t, s.name+" is ready", func() bool {
		select {
		case <-ended:
			require.Fail(t, s.name+" ended", log.String())
		default:
		}
		return s.finds("/readyz")
	})
	s.ready = time.Since(begin)
	eventually(t, s.name+" has a namespace", func() bool { return s.finds("/api/v1/namespaces/default") })
}

func (s *server) finds(path string) bool {
	found, err := s.try(request{method: http.MethodGet, path: path})
	return err == nil && found.status == http.StatusOK
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(hangs); !condition(); time.Sleep(pause) {
		require.True(t, time.Now().Before(end), what)
	}
}

type request struct {
	method, path string
	contentType  string // JSON, if it is empty
	accept       string
	body         []byte
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func (s *server) try(r request) (answer, error) {
	sent, err := http.NewRequest(r.method, s.url+r.path, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	sent.Header.Set("Content-Type", r.contentType)
	if r.contentType == "" {
		sent.Header.Set("Content-Type", onJSON)
	}
	if r.accept != "" {
		sent.Header.Set("Accept", r.accept)
	}
	if s.token != "" {
		sent.Header.Set("Authorization", "Bearer "+s.token)
	}
	got, err := s.client.Do(sent)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header, body}, err
}

func (s *server) do(t *testing.T, r request) answer {
	got, err := s.try(r)
	require.NoError(t, err, "%s: %s %s", s.name, r.method, r.path)
	return got
}

// install creates a definition, and returns when its kind is served.
func (s *server) install(t *testing.T, definition []byte) kind {
	created := s.do(t, request{method: http.MethodPost, path: atCRDs, contentType: onYAML, body: definition})
	require.Equal(t, http.StatusCreated, created.status, "%s: %s", s.name, created.body)
	k := kindOf(t, definition)
	s.untilServed(t, k)
	return k
}

func (s *server) untilServed(t *testing.T, k kind) {
	eventually(t, s.name+" serves "+k.name, func() bool {
		return isEstablished(s.do(t, request{method: http.MethodGet, path: atCRDs + "/" + k.name}).body) &&
			s.do(t, request{method: http.MethodGet, path: k.versions[0].collection}).status == http.StatusOK
	})
}

func isEstablished(crd []byte) bool {
	var read struct {
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	if json.Unmarshal(crd, &read) != nil {
		return false
	}
	for _, condition := range read.Status.Conditions {
		if condition.Type == "Established" {
			return condition.Status == "True"
		}
	}
	return false
}
