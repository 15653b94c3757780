package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kube2014/pkg/util/loopback/loopbacktest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// realCluster is the process of make cluster, with somebody at kubectl.
type realCluster struct {
	t           *testing.T
	block       loopbacktest.Block
	cmd         *exec.Cmd
	log         *watched
	url         string
	kubectlPath string
	home        string
}

func startRealCluster(t *testing.T, flags ...string) *realCluster {
	b := loopbacktest.Claim(t)
	args := []string{"-run", "all", "-machines", strings.Join(b.Machines, ","), "-cluster_cidr", b.Pods, "-kubelet_port", "0"}
	cmd, log, address := unhurriedProgram(t, append(args, flags...)...)
	return &realCluster{t, b, cmd, log, "http://" + address, kubectlPath(t), t.TempDir()}
}

// kubectl runs kubectl, and returns what it prints.
func (c *realCluster) kubectl(args ...string) string {
	c.t.Helper()
	out, err := c.tryKubectl("", args...)
	require.NoError(c.t, err, out)
	return out
}

func (c *realCluster) tryKubectl(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.kubectlPath, append([]string{"-s", c.url}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+c.home, "KUBECONFIG=")
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output() // warnings go elsewhere
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return string(out), err
}

// create creates an object of a text.
func (c *realCluster) create(text string) string {
	c.t.Helper()
	out, err := c.tryKubectl(text, "create", "-f", "-")
	require.NoError(c.t, err, out)
	return out
}

// waitFor waits until kubectl says that something holds.
func (c *realCluster) waitFor(condition string, what ...string) {
	c.t.Helper()
	c.kubectl(append([]string{"wait", "--timeout=5m", "--for=" + condition}, what...)...)
}

// lines returns the lines that kubectl prints, with single blanks.
func (c *realCluster) lines(args ...string) (lines []string) {
	for line := range strings.Lines(c.kubectl(args...)) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// get asks a service at a machine, on a connection of its own, and returns the answer.
func (c *realCluster) get(address string) (string, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: hangs}).Get("http://" + address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return strings.TrimSpace(string(text)), err
}

const webController = `{"kind":"ReplicationController","apiVersion":"v1","metadata":{"name":"web"},"spec":{"replicas":3,"selector":{"app":"web"},
	"template":{"metadata":{"labels":{"app":"web"}},"spec":{"terminationGracePeriodSeconds":1,"containers":[{"name":"nginx","image":"nginx:1.8","ports":[{"containerPort":%s}]}]}}}}`

// The story of the pod, in the process that make cluster starts, on each store.
func TestACluster(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			c := startRealCluster(t, flags(t)...)
			c.runPod()
			c.runController()
			c.reachService()
			c.drainNode()
			require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
			c.log.find("stopped$")
			c.log.end()
			assert.NoError(t, c.cmd.Wait(), "exit code 0")
		})
	}
}

// runPod lets a pod run, looks at it, and deletes it.
func (c *realCluster) runPod() {
	t := c.t
	manifest, err := filepath.Abs("../../api/examples/nginx_pod.yaml")
	require.NoError(t, err)
	assert.Equal(t, "pod/nginx-pod created\n", c.kubectl("create", "-f", manifest))
	c.waitFor("condition=Ready", "pod/nginx-pod")
	lines := c.lines("get", "pods")
	assert.Regexp(t, `^nginx-pod 1/1 Running 0 \w+$`, lines[1])

	var described string
	eventually(t, func() bool { // events are written a moment later
		described = c.kubectl("describe", "pod", "nginx-pod")
		return strings.Contains(described, "Started")
	}, "kubectl describe shows the events")
	for _, event := range []string{
		`Normal +Scheduled +\S+ +default-scheduler +Successfully assigned default/nginx-pod to ` + strings.ReplaceAll(c.block.Machines[0][:4], ".", `\.`),
		`Normal +Pulled +\S+ +kubelet `, `Normal +Created +\S+ +kubelet `, `Normal +Started +\S+ +kubelet `,
	} {
		assert.Regexp(t, event, described)
	}
	assert.Contains(t, c.kubectl("logs", "nginx-pod"), "nginx")
	tail := c.lines("logs", "nginx-pod", "--tail=1", "--timestamps")
	require.Len(t, tail, 1)
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT`, tail[0])
	assert.Regexp(t, `^`+regexp.QuoteMeta(c.block.Machines[0])+` Ready `, c.lines("get", "nodes")[1])
	assert.Contains(t, c.kubectl("delete", "pod", "nginx-pod", "--grace-period=1"), `pod "nginx-pod" deleted`)
}

// runController lets a replication controller have more and fewer pods, and replace one.
func (c *realCluster) runController() {
	t := c.t
	c.create(fmt.Sprintf(webController, loopbacktest.FreePort(t)))
	c.waitFor("jsonpath={.status.readyReplicas}=3", "rc/web")
	c.kubectl("scale", "rc", "web", "--replicas=10")
	c.waitFor("jsonpath={.status.readyReplicas}=10", "rc/web")
	assert.Len(t, c.lines("get", "pods", "--no-headers"), 10)
	c.kubectl("scale", "rc", "web", "--replicas=0")
	c.waitFor("delete", "pod", "-l", "app=web")
	c.kubectl("scale", "rc", "web", "--replicas=3")
	c.waitFor("jsonpath={.status.readyReplicas}=3", "rc/web")

	names := "jsonpath={.items[*].metadata.uid}"
	before := strings.Fields(c.kubectl("get", "pods", "-o", names))
	require.Len(t, before, 3)
	c.kubectl("delete", "pod", "--wait=false", strings.TrimPrefix(c.lines("get", "pods", "-o", "name")[0], "pod/"))
	eventually(t, func() bool {
		now := strings.Fields(c.kubectl("get", "pods", "-o", names))
		kept := 0
		for _, uid := range now {
			if slices.Contains(before, uid) {
				kept++
			}
		}
		return len(now) == 3 && kept == 2
	}, "another pod comes")
	c.waitFor("condition=Ready", "pod", "-l", "app=web")
	described := c.kubectl("describe", "rc", "web")
	assert.Regexp(t, `Normal +SuccessfulCreate +.*replication-controller.*Created pod: web-`, described)
}

// reachService reaches each pod in turn through the proxy of each machine.
func (c *realCluster) reachService() {
	t := c.t
	port, target := loopbacktest.FreePort(t), c.kubectl("get", "rc", "web", "-o", "jsonpath={.spec.template.spec.containers[0].ports[0].containerPort}")
	c.kubectl("expose", "rc", "web", "--port="+port, "--target-port="+target)
	eventually(t, func() bool {
		return len(strings.Fields(c.kubectl("get", "endpoints", "web", "-o", "jsonpath={.subsets[*].addresses[*].ip}"))) == 3
	}, "the service has endpoints")
	for _, machine := range c.block.Machines {
		address := net.JoinHostPort(machine, port)
		eventually(t, func() bool { // the proxy hears of endpoints a moment later
			answers := map[string]int{}
			for range 6 {
				answer, err := c.get(address)
				if err != nil || !answered.MatchString(answer) {
					return false
				}
				answers[answer]++
			}
			for _, times := range answers {
				if times != 2 {
					return false
				}
			}
			return len(answers) == 3
		}, "the proxy of "+machine+" reaches each pod in turn")
	}
}

// answered is what a hollow container answers.
var answered = regexp.MustCompile(`^web-\d+ on 127\.`)

// drainNode lets a node have no pods.
func (c *realCluster) drainNode() {
	t := c.t
	node := c.block.Machines[1]
	c.kubectl("cordon", node)
	assert.Regexp(t, "^"+regexp.QuoteMeta(node)+" Ready,SchedulingDisabled ", c.lines("get", "node", node)[1])
	c.kubectl("drain", node, "--timeout=5m")
	assert.Empty(t, c.kubectl("get", "pods", "--field-selector", "spec.nodeName="+node, "-o", "name"))
	c.waitFor("jsonpath={.status.readyReplicas}=3", "rc/web")
	c.kubectl("uncordon", node)
}
