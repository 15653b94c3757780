package clients

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// changesVariable says how many changes informers follow, and that the tests are run
	// that take minutes: make proof.
	changesVariable = "KUBE2014_CLIENTS"
	fewChanges      = 500

	// onVariable names the program that is tested, if it is not the apiserver. With
	// kube-apiserver the tests themselves are tested: they ask nothing that today's server
	// does not do.
	onVariable = "KUBE2014_CLIENTS_ON"
	today      = "kube-apiserver"
)

func changes(t *testing.T) (n int, all bool) {
	text := os.Getenv(changesVariable)
	if text == "" {
		return fewChanges, false
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, changesVariable)
	return n, true
}

func onToday() bool { return os.Getenv(onVariable) == today }

// hangs is how long nothing happens until it is taken for an error.
const hangs = 5 * time.Minute

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(hangs); !condition(); time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(end), what)
	}
}

// apiserver is the program, built anew: what is in bin may be old.
var apiserver = sync.OnceValues(func() (string, error) {
	program := filepath.Join(directory, "apiserver")
	build := exec.Command("go", "build", "-o", program, "./cmd/apiserver")
	build.Dir = ".."
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the apiserver: %w\n%s", err, output)
	}
	return program, nil
})

// directory has files of this process.
var directory string

func TestMain(m *testing.M) {
	var err error
	if directory, err = os.MkdirTemp("", "kube2014-clients-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// server is a process behind a proxy: it keeps its address when it is started again.
type server struct {
	*proxy
	args    []string
	scheme  string
	etcd    string // its URL, if the apiserver is on one
	process *process
}

// inMemory starts an apiserver that ends with the test.
func inMemory(t *testing.T) *server {
	if onToday() {
		return startToday(t)
	}
	return startOurs(t)
}

// onEtcd starts an apiserver on an etcd of its own.
func onEtcd(t *testing.T) *server {
	if onToday() {
		return startToday(t)
	}
	etcd := startEtcd(t)
	s := startOurs(t, "-etcd_servers", etcd)
	s.etcd = etcd
	return s
}

func startOurs(t *testing.T, flags ...string) *server {
	s := &server{proxy: newProxy(t), scheme: "http", args: append([]string{"-port", "0", "-machines", "127.0.0.1,127.0.0.2"}, flags...)}
	s.start(t)
	return s
}

// startEtcd starts an etcd that ends with the test, and returns its URL. It takes free ports,
// and does not wait for the disk.
func startEtcd(t *testing.T) string {
	const free = "http://127.0.0.1:0"
	etcd := startProcess(t, filepath.Join("..", "bin", "etcd"), "--data-dir", t.TempDir(), "--enable-v2=true", "--unsafe-no-fsync",
		"--listen-client-urls", free, "--advertise-client-urls", free, "--listen-peer-urls", free)
	return "http://" + etcd.find(t, `serving client traffic insecurely.*"address":"(127\.0\.0\.1:\d+)"`)
}

// start starts the process, or starts it again when it has been killed.
func (s *server) start(t *testing.T) {
	if s.scheme == "https" {
		s.startToday(t)
		return
	}
	program, err := apiserver()
	require.NoError(t, err)
	s.process = startProcess(t, program, s.args...)
	s.forward(s.process.find(t, `serves http://(127\.0\.0\.1:\d+)/`))
}

// kill ends the process at once, as a crash would.
func (s *server) kill() {
	s.process.kill()
	s.forward("")
}

// forget lets etcd forget all changes that were made so far: it remembers the last thousand,
// of whatever. Today's server forgets by itself when it ends.
func (s *server) forget(t *testing.T) {
	if onToday() {
		return
	}
	for range 1001 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.etcd+"/v2/keys/others?value=1", nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Less(t, answer.StatusCode, 300)
	}
}

func (s *server) url() string { return s.scheme + "://" + s.address() }

// config is for clients without a limit of their own. The requests are seen by those who
// are told.
func (s *server) config(seenBy ...func(*http.Request)) *rest.Config {
	return configFor(s.url(), seenBy...)
}

func configFor(url string, seenBy ...func(*http.Request)) *rest.Config {
	config := &rest.Config{Host: url, QPS: -1, WarningHandler: rest.NoWarnings{}}
	if strings.HasPrefix(url, "https") {
		config.TLSClientConfig.Insecure = true
		config.BearerToken = todaysToken
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return seeing{next, seenBy} })
	return config
}

type seeing struct {
	http.RoundTripper
	seenBy []func(*http.Request)
}

func (s seeing) RoundTrip(request *http.Request) (*http.Response, error) {
	for _, see := range s.seenBy {
		see(request)
	}
	return s.RoundTripper.RoundTrip(request)
}

// clientsetFor returns typed clients, which prefer protobuf, as Kubernetes' own programs do.
func clientsetFor(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	clients, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return clients
}

// waitUntilReady waits for what today's server makes for itself.
func waitUntilReady(t *testing.T, config *rest.Config) {
	clients := clientsetFor(t, config)
	eventually(t, func() bool {
		_, err := clients.CoreV1().RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context())
		if err != nil {
			return false
		}
		_, err = clients.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceDefault, metav1.GetOptions{})
		return err == nil
	}, "the server is ready")
}

// process is another program, with its log.
type process struct {
	command *exec.Cmd
	ended   chan struct{}

	mu  sync.Mutex // guards log
	log []string
}

// startProcess starts a program, which is killed with the test.
func startProcess(t *testing.T, program string, args ...string) *process {
	p := &process{command: exec.Command(program, args...), ended: make(chan struct{})}
	stderr, err := p.command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.command.Start())
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.mu.Lock()
			p.log = append(p.log, lines.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the last lines of %s:\n%s", filepath.Base(program), strings.Join(p.log[max(0, len(p.log)-20):], "\n"))
		}
	})
	return p
}

// find waits for a line of the log, and returns its first submatch.
func (p *process) find(t *testing.T, pattern string) (found string) {
	wanted := regexp.MustCompile(pattern)
	eventually(t, func() bool {
		ended := p.hasEnded()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, line := range p.log {
			if match := wanted.FindStringSubmatch(line); match != nil {
				found = match[1]
				return true
			}
		}
		require.False(t, ended, "%s ended:\n%s", p.command.Path, strings.Join(p.log, "\n"))
		return false
	}, "the log says "+pattern)
	return found
}

// hasEnded tells whether the process has ended. Its log is complete then.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) kill() {
	_ = p.command.Process.Kill() // it may have been killed before
	<-p.ended
	_ = p.command.Wait()
}

// pod is one that wants nothing.
func pod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
}

func createPod(t *testing.T, clients kubernetes.Interface, name string, labels map[string]string) *corev1.Pod {
	created, err := clients.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod(name, labels), metav1.CreateOptions{})
	require.NoError(t, err)
	return created
}

func deletePod(t *testing.T, clients kubernetes.Interface, name string) {
	require.NoError(t, clients.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), name, metav1.DeleteOptions{}))
}
