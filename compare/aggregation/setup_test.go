package aggregation_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/compare/serverstest"
	"kube2014/pkg/util/certtest"
	"kube2014/pkg/util/loopback/loopbacktest"
)

const (
	sampleServer = "../../bin/sample-apiserver"

	atServices = "/apis/apiregistration.k8s.io/v1/apiservices"
	serviceOf  = atServices + "/v1alpha1.wardle.example.com"
	atWardle   = "/apis/wardle.example.com/v1alpha1"
	atFlunders = atWardle + "/namespaces/default/flunders"
	asOneList  = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	users      = "admin-token,admin,1,system:masters\nalice-token,alice,2,dev\nwardle-token,system:serviceaccount:wardle:apiserver,3,\n"
)

// rights are those of the account of the sample server, in its namespace.
var rights = []struct{ path, object string }{
	{"/api/v1/namespaces", `{"metadata": {"name": "wardle"}}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata": {"name": "wardle"}, "rules": [
		{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
		{"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
		{"apiGroups": ["flowcontrol.apiserver.k8s.io"], "resources": ["flowschemas", "prioritylevelconfigurations"], "verbs": ["list", "watch"]}]}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding("wardle", "ClusterRole", "wardle", "wardle")},
	{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding("wardle-delegates", "ClusterRole", "system:auth-delegator", "wardle")},
	{"/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings", binding("wardle", "Role", "extension-apiserver-authentication-reader", "wardle")},
}

func binding(name, kind, role, namespace string) string {
	return fmt.Sprintf(`{"metadata": {"name": %q}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": %q, "name": %q},
		"subjects": [{"kind": "ServiceAccount", "name": "apiserver", "namespace": %q}]}`, name, kind, role, namespace)
}

// fleet is servers of ours on one etcd, and the sample server, which has an etcd of its own.
type fleet struct {
	ours     []*server
	sample   *server
	ca       *certtest.Pair
	machines []string // addresses that nobody else has
}

// server is a process at an address of its own, and its administrator's client.
type server struct {
	*serverstest.Server
	address string // HOST:PORT

	program string
	flags   []string
	dir     string
	stop    func() // kills the process and waits for its end
}

func onlyIfAsked(t *testing.T) {
	if os.Getenv("KUBE2014_AGGREGATION") == "" {
		t.Skip("make aggregation runs it")
	}
	t.Parallel()
}

// newServer returns a server that is not started. It ends with the test, which shows its log if it has failed. Nobody else has its
// address, also while it is away.
func newServer(t *testing.T, name, program, host string) *server {
	address := net.JoinHostPort(host, loopbacktest.FreePort(t))
	s := &server{program: program, address: address, dir: t.TempDir(), stop: func() {},
		Server: &serverstest.Server{Name: name, URL: "https://" + address, Token: "admin-token", Client: serverstest.NewClient()}}
	t.Cleanup(func() {
		s.stop()
		s.Client.CloseIdleConnections()
		log, err := os.ReadFile(filepath.Join(s.dir, "log"))
		assert.NoError(t, err)
		if program != sampleServer { // which tells of each request that is given up that it has not panicked
			assert.NotContains(t, string(log), "panic", name)
		}
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", name, log[max(0, len(log)-3000):])
		}
	})
	return s
}

// start starts the process. It does not wait until it is ready.
func (s *server) start(t *testing.T) {
	host, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer log.Close()
	command := exec.Command(s.program, append([]string{"--bind-address", host, "--secure-port", port}, s.flags...)...)
	command.Stderr = log
	require.NoError(t, command.Start())
	s.stop = func() {
		assert.NoError(t, command.Process.Kill(), "%s has ended by itself", s.Name)
		_ = command.Wait() // it was killed
		s.stop = func() {}
	}
}

// as returns the client of another user.
func (s *server) as(user string) *serverstest.Server {
	other := *s.Server
	other.Token = user + "-token"
	return &other
}

// kubeconfig writes a file for a user of the server.
func (s *server) kubeconfig(t *testing.T, user string) string {
	return writeKubeconfig(t, s.as(user))
}

// newFleet starts servers of ours, with some flags more.
func newFleet(t *testing.T, servers int, flags ...string) *fleet {
	f := &fleet{ca: certtest.Authority(t, "all"), machines: loopbacktest.Claim(t).Machines}
	ca, _ := f.ca.Files(t)
	proxy, proxyKey := f.ca.Client(t, "front-proxy", nil).Files(t)
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	require.NoError(t, os.WriteFile(tokens, []byte(users), 0o600))
	program := filepath.Join(t.TempDir(), "kube-apiserver")
	require.NoError(t, os.Link(serverstest.OurProgram(t), program))
	flags = append(flags, "--etcd-servers", serverstest.StartEtcd(t), "--token-auth-file", tokens, "--authorization-mode", "RBAC",
		"--disable-admission-plugins", "ServiceAccount", "--client-ca-file", ca, "--requestheader-client-ca-file", ca, "--requestheader-allowed-names", "front-proxy",
		"--requestheader-username-headers", "X-Remote-User", "--requestheader-group-headers", "X-Remote-Group", "--requestheader-extra-headers-prefix", "X-Remote-Extra-",
		"--proxy-client-cert-file", proxy, "--proxy-client-key-file", proxyKey)
	for i := range servers {
		s := newServer(t, fmt.Sprintf("server %d", i), program, f.machines[i])
		s.flags = append([]string{"--cert-dir", s.dir}, flags...)
		f.ours = append(f.ours, s)
		s.start(t)
		serverstest.Eventually(t, s.Name+" is ready", func() bool { return s.Finds("/readyz") && s.Finds("/api/v1/namespaces/default") })
	}
	return f
}

// addSample prepares the rights and the service of the sample server, and starts it.
func (f *fleet) addSample(t *testing.T) {
	require.FileExists(t, sampleServer, "make bin/sample-apiserver builds it")
	f.sample = newServer(t, "sample-apiserver", sampleServer, f.machines[len(f.machines)-1])
	certificate, key := f.ca.Server(t, "api.wardle.svc").Files(t)
	kubeconfig := f.ours[0].kubeconfig(t, "wardle")
	f.sample.flags = []string{"--etcd-servers", serverstest.StartEtcd(t), "--tls-cert-file", certificate, "--tls-private-key-file", key,
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig}
	for _, r := range rights {
		f.ours[0].create(t, r.path, r.object)
	}
	f.addService(t, "wardle", "api", "wardle.example.com", "v1alpha1", f.sample.address)
	f.startSample(t)
}

// addService lets a server at an address serve a version of a group, as a service in a namespace.
func (f *fleet) addService(t *testing.T, namespace, name, group, version, address string) {
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	at := "/api/v1/namespaces/" + namespace
	f.ours[0].create(t, at+"/services", fmt.Sprintf(`{"metadata": {"name": %q}, "spec": {"ports": [{"port": 443}], "clusterIP": "None"}}`, name))
	f.ours[0].create(t, at+"/endpoints", fmt.Sprintf(`{"metadata": {"name": %q}, "subsets": [{"addresses": [{"ip": %q}], "ports": [{"port": %s}]}]}`, name, host, port))
	f.ours[0].create(t, atServices, fmt.Sprintf(`{"metadata": {"name": "%[2]s.%[1]s"}, "spec": {"group": %[1]q, "version": %[2]q, "groupPriorityMinimum": 1000,
		"versionPriority": 15, "service": {"namespace": %[3]q, "name": %[4]q}, "caBundle": %[5]q}}`, group, version, namespace, name, base64.StdEncoding.EncodeToString(f.ca.CertPEM)))
}

// startSample starts the sample server, and returns when each of ours passes requests on to it, and the condition says so.
func (f *fleet) startSample(t *testing.T) {
	f.sample.start(t)
	for _, s := range f.ours {
		serverstest.Eventually(t, s.Name+" passes requests on", func() bool { return s.Finds(atFlunders) && conditionOf(t, s).Status == "True" })
	}
}

func (s *server) create(t *testing.T, path, object string) {
	got := s.Do(t, serverstest.Request{Method: http.MethodPost, Path: path, Body: []byte(object)})
	require.Equal(t, http.StatusCreated, got.Status, "%s: %s", path, got.Body)
}

// kubectl returns what kubectl prints for the administrator.
func (s *server) kubectl(t *testing.T, args ...string) string {
	return kubectl(t, s.kubeconfig(t, "admin"), args...)
}

// kubectl returns what kubectl prints. It must succeed.
func kubectl(t *testing.T, kubeconfig string, args ...string) string {
	printed, failure := tryKubectl(t, kubeconfig, args...)
	require.Empty(t, failure, "kubectl %s", args)
	return printed
}

// tryKubectl returns what kubectl prints, and why it fails, "" for not.
func tryKubectl(t *testing.T, kubeconfig string, args ...string) (printed, failure string) {
	const program = "../../bin/kubectl"
	require.FileExists(t, program, "make bin/kubectl builds it")
	output, err := exec.Command(program, append([]string{"--kubeconfig", kubeconfig, "--cache-dir", t.TempDir()}, args...)...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return string(output), fmt.Sprintf("%v: %s", failed, failed.Stderr)
	}
	require.NoError(t, err)
	return string(output), ""
}

// fields returns the fields of the lines of a text.
func fields(text string) (lines [][]string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}
