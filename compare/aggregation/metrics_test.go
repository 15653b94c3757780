// Package aggregation_test lets programs that serve groups of their own stand behind our server.
package aggregation_test

import (
	"encoding/json"
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
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/bench/measure"
	"kube2014/compare/serverstest"
	"kube2014/pkg/util/certtest"
)

const atMetrics = "/apis/metrics.k8s.io/v1beta1"

// What a pod that requests nothing, and a machine without pods, seem to use, are 10m and 10Mi.
var usages = map[string]usage{
	"127.0.0.1": {"270m", "84Mi"}, "127.0.0.2": {"10m", "10Mi"},
	"web": {"250m", "64Mi"}, "idle": {"10m", "10Mi"},
}

type usage struct{ CPU, Memory string }

func TestTodaysMetricsServerMeasuresOurKubelets(t *testing.T) {
	onlyIfAsked(t)
	authority := certtest.Authority(t, "proxies")
	ca, _ := authority.Files(t)
	proxy, proxyKey := authority.Client(t, "front-proxy", nil).Files(t)
	s := serverstest.AsKubeAPIServer(t, serverstest.OurProgram(t), "--run", "all", "--machines", "127.0.0.1,127.0.0.2", "--kubelet-port", "0",
		"--authorization-mode", "RBAC", "--disable-admission-plugins", "ServiceAccount",
		"--client-ca-file", ca, "--requestheader-client-ca-file", ca, "--requestheader-allowed-names", "front-proxy",
		"--requestheader-username-headers", "X-Remote-User", "--requestheader-group-headers", "X-Remote-Group", "--requestheader-extra-headers-prefix", "X-Remote-Extra-",
		"--proxy-client-cert-file", proxy, "--proxy-client-key-file", proxyKey)
	c := &cluster{s, writeKubeconfig(t, s)}
	c.create(t, "/api/v1/namespaces/default/pods", pod("web", `{"requests": {"cpu": "250m", "memory": "64Mi"}}`))
	c.create(t, "/api/v1/namespaces/default/pods", pod("idle", `{}`))

	metrics := c.startMetricsServer(t)
	serverstest.Eventually(t, "metrics-server has measured twice", func() bool { return c.measures(t, metrics) })

	c.create(t, "/api/v1/namespaces/kube-system/services", `{"metadata": {"name": "metrics-server"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}`)
	c.create(t, "/apis/apiregistration.k8s.io/v1/apiservices", fmt.Sprintf(`{"metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": {
		"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": true,
		"service": {"namespace": "kube-system", "name": "metrics-server", "port": %s}}}`, metrics.port(t)))
	serverstest.Eventually(t, "the server passes requests on", func() bool { return c.Finds(atMetrics + "/nodes") })
	assert.True(t, c.measures(t, metricsServer{c.Server}), "through our server")
	assert.Equal(t, [][]string{{"127.0.0.1", "270m", "6%", "84Mi", "1%"}, {"127.0.0.2", "10m", "0%", "10Mi", "0%"}}, fields(kubectl(t, c.kubeconfig, "top", "nodes", "--no-headers")))
	assert.Equal(t, [][]string{{"idle", "10m", "10Mi"}, {"web", "250m", "64Mi"}}, fields(kubectl(t, c.kubeconfig, "top", "pods", "--no-headers")))
}

// cluster is our server with all its parts.
type cluster struct {
	*serverstest.Server
	kubeconfig string // a file
}

// metricsServer is asked as our server is.
type metricsServer struct{ *serverstest.Server }

func (s metricsServer) port(t *testing.T) string {
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "https://"))
	require.NoError(t, err)
	return port
}

func writeKubeconfig(t *testing.T, s *serverstest.Server) string {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}], users: [{name: u, user: {token: %q}}]}`, s.URL, s.Token)), 0o600))
	return file
}

func pod(name, resources string) string {
	return fmt.Sprintf(`{"metadata": {"name": %q}, "spec": {"nodeName": "127.0.0.1", "containers": [{"name": "c", "image": "i", "resources": %s}]}}`, name, resources)
}

func (c *cluster) create(t *testing.T, path, object string) {
	got := c.Do(t, serverstest.Request{Method: http.MethodPost, Path: path, Body: []byte(object)})
	require.Equal(t, http.StatusCreated, got.Status, "%s", got.Body)
}

// startMetricsServer starts a metrics-server that ends with the test.
func (c *cluster) startMetricsServer(t *testing.T) metricsServer {
	const program = "../../bin/metrics-server"
	require.FileExists(t, program, "make bin/metrics-server builds it")
	port, err := measure.FreePort()
	require.NoError(t, err)
	command := exec.Command(program, "--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", t.TempDir(), "--kubeconfig", c.kubeconfig,
		"--authentication-kubeconfig", c.kubeconfig, "--authorization-kubeconfig", c.kubeconfig, "--metric-resolution", "10s", "--kubelet-request-timeout", "5s",
		"--deprecated-kubelet-completely-insecure", "--kubelet-use-node-status-port", "--kubelet-preferred-address-types", "InternalIP")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	command.Stderr = log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill() // if it has ended, its log tells why
		_ = command.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the end of the log of metrics-server:\n%s", text[max(0, len(text)-3000):])
		}
	})
	return metricsServer{&serverstest.Server{Name: "metrics-server", URL: "https://" + net.JoinHostPort("127.0.0.1", port), Token: c.Token, Client: c.Client}}
}

// measures reports whether a server has the usage of all machines and pods. What it has must be right.
func (c *cluster) measures(t *testing.T, s metricsServer) bool {
	measured := map[string]usage{}
	for _, path := range []string{atMetrics + "/nodes", atMetrics + "/namespaces/default/pods"} {
		got, err := s.Try(serverstest.Request{Method: http.MethodGet, Path: path})
		if err != nil || got.Status != http.StatusOK {
			return false
		}
		var list struct {
			Items []struct {
				Metadata   struct{ Name string }
				Usage      usage
				Containers []struct{ Usage usage }
			}
		}
		require.NoError(t, json.Unmarshal(got.Body, &list))
		for _, item := range list.Items {
			for _, container := range item.Containers {
				item.Usage = container.Usage
			}
			measured[item.Metadata.Name] = inMilli(t, item.Usage)
		}
	}
	return assert.ObjectsAreEqual(usages, measured)
}

// inMilli rounds the processor time up to thousandths of a core, as kubectl does.
func inMilli(t *testing.T, u usage) usage {
	cpu, err := resource.ParseQuantity(u.CPU)
	require.NoError(t, err)
	memory, err := resource.ParseQuantity(u.Memory)
	require.NoError(t, err)
	return usage{fmt.Sprintf("%dm", cpu.MilliValue()), fmt.Sprintf("%dMi", memory.Value()>>20)}
}
