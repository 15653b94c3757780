package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/loopback/loopbacktest"
)

// todaysCluster is this server, with a controller manager, a scheduler and three of our kubelets around it.
type todaysCluster struct {
	url        string
	kubeconfig string // a file
	server     victim
	audit      string // a file
}

// exceptInClouds are all of today's controllers but those that need a cloud.
const exceptInClouds = "*,-node-ipam-controller,-route,-service-lb-controller,-cloud-node-lifecycle-controller,bootstrap-signer-controller,token-cleaner-controller"

// startOwnCluster starts what make cluster starts, at a secure port. It ends with the test.
func startOwnCluster(t *testing.T) todaysCluster {
	c, _, _, _ := startSecureServer(t, "-run", "all", "-machines", "127.0.0.1,127.0.0.2,127.0.0.3")
	return c
}

// startTodaysCluster starts a cluster on a store. It ends with the test.
func startTodaysCluster(t *testing.T, store []string) todaysCluster {
	c, accountKey, ca, caKey := startSecureServer(t, append([]string{"-scheduler", "none"}, store...)...)
	kubelets := processVictim(t, "the kubelets", []string{"-run", "kubelet", "-machines", "127.0.0.1,127.0.0.2,127.0.0.3", "-kubeconfig", c.kubeconfig})
	kubelets.start()
	startTodaysControllers(t, c.kubeconfig, accountKey, ca, caKey)
	startTodaysProgram(t, "kube-scheduler", "--kubeconfig", c.kubeconfig, "--leader-elect=false", "--secure-port", "0")
	return c
}

// startSecureServer starts this server at a secure port.
func startSecureServer(t *testing.T, more ...string) (c todaysCluster, accountKey, ca, caKey string) {
	f := filesOf(t)
	flags, authority := f.secureFlags()
	ca, caKey = f.pair("ca", authority)
	signing, port := f.signingFlags(), loopbacktest.FreePort(t)
	flags[slices.Index(flags, "-secure_port")+1] = port
	c.audit = f.path("audit")
	c.server = processVictim(t, "the server", slices.Concat(flags, signing, nodeFlags, more, []string{"-insecure=false",
		"-client_ca_file", ca, "-root_ca_file", ca, "-audit_log_path", c.audit, "-service_cluster_ip_range", "10.0.0.0/16", "-token_auth_file", f.write("tokens", "admin-token,admin,1,system:masters\n")}))
	c.server.start()
	c.url = "https://" + net.JoinHostPort("127.0.0.1", port)
	c.kubeconfig = f.write("kubeconfig", kubeconfigFor(t, c.url, authority, "admin-token"))
	return c, signing[1], ca, caKey
}

// startTodaysControllers starts today's controller manager, and waits until its garbage collector works, which comes last.
func startTodaysControllers(t *testing.T, kubeconfig, accountKey, ca, caKey string) {
	log := startTodaysProgram(t, "kube-controller-manager", "--kubeconfig", kubeconfig, "--leader-elect=false", "--secure-port", "0", "--use-service-account-credentials=false",
		"--service-account-private-key-file", accountKey, "--root-ca-file", ca, "--cluster-signing-cert-file", ca, "--cluster-signing-key-file", caKey, "--controllers", exceptInClouds)
	eventually(t, func() bool {
		text, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(text), "Proceeding to collect garbage")
	}, "today's garbage collector works")
}

// startTodaysProgram starts a program that make bin/NAME builds, and returns the file it logs to. It must not end before the test does.
func startTodaysProgram(t *testing.T, name string, flags ...string) (logFile string) {
	path, err := filepath.Abs("../../bin/" + name)
	require.NoError(t, err)
	require.FileExists(t, path, "make bin/%s builds it", name)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd := exec.Command(path, flags...)
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Kill(), "%s has ended by itself", name)
		_ = cmd.Wait() // it was killed
		text, err := os.ReadFile(log.Name())
		assert.NoError(t, err)
		assert.NotContains(t, string(text), "panic", name)
		if t.Failed() {
			t.Logf("%s ended with\n%s", name, text[max(0, len(text)-3000):])
		}
	})
	return log.Name()
}

// refused returns the requests of today's programs that were refused, with the number of times. Conflicts are no refusals: the
// programs try again.
func (c todaysCluster) refused(t *testing.T) []string {
	file, err := os.Open(c.audit)
	require.NoError(t, err)
	defer file.Close()
	times := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var event struct {
			Verb, UserAgent string
			ObjectRef       struct{ APIGroup, Resource, Subresource string }
			ResponseStatus  struct{ Code int }
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil { // the first bytes of a line that was being written when the server was killed
			continue
		}
		program, _, _ := strings.Cut(event.UserAgent, "/")
		if code := event.ResponseStatus.Code; code >= 400 && code != 409 && code != 404 && strings.HasPrefix(program, "kube-") {
			times[fmt.Sprintf("%s: %s %s/%s %s → %d", program, event.Verb, event.ObjectRef.APIGroup, event.ObjectRef.Resource, event.ObjectRef.Subresource, code)]++
		}
	}
	var all []string
	for _, line := range slices.Sorted(maps.Keys(times)) {
		all = append(all, fmt.Sprintf("%d × %s", times[line], line))
	}
	return all
}
