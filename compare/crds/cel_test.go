package crds

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gateway-api tests the rules of its definitions on a server with a kubeconfig. Its tests are compiled in its own module.
func TestTheRulesOfGatewayAPIHoldAsOnKubeAPIServer(t *testing.T) {
	onlyIfAsked(t)
	t.Parallel()
	program := ourProgram(t)
	for channel, p := range map[string]project{"standard": gateways, "experimental": experimental} {
		t.Run(channel, func(t *testing.T) {
			t.Parallel() // most of the time, the tests wait for their client
			folder := p.download(t)
			tests := filepath.Join(t.TempDir(), "cel.test")
			compile := exec.Command("go", "test", "-c", "-mod=readonly", "-tags", channel, "-o", tests, "./pkg/test/cel")
			compile.Dir = folder
			output, err := compile.CombinedOutput()
			require.NoError(t, err, string(output))
			var want []string
			for i, s := range []*server{todays(t, startEtcd(t)), inMemory(t, program), onEtcd(t, program, startEtcd(t))} {
				for _, definition := range p.definitions(t, folder) {
					s.install(t, definition)
				}
				results := s.runs(t, tests)
				if i == 0 {
					want = results
				}
				assert.Equal(t, want, results, s.Name)
			}
			require.NotEmpty(t, want)
			t.Logf("%d results", len(want))
			for _, failed := range want {
				if strings.Contains(failed, "FAIL") {
					t.Logf("on kube-apiserver, too: %s", failed)
				}
			}
		})
	}
}

var result = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): \S+`)

// runs runs compiled tests on the server, and returns the results in order. Some may fail: which, depends on the version of
// the server.
func (s *server) runs(t *testing.T, tests string) []string {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: it
clusters: [{name: it, cluster: {server: %q, insecure-skip-tls-verify: %t}}]
users: [{name: me, user: {token: %q}}]
contexts: [{name: it, context: {cluster: it, user: me}}]
`, s.URL, s.Token != "", s.Token), 0o600))
	run := exec.Command(tests, "-test.v", "-test.timeout", hangs.String())
	run.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	output, err := run.CombinedOutput()
	if !errors.As(err, new(*exec.ExitError)) { // which says that a test failed
		require.NoError(t, err)
	}
	results := result.FindAllString(string(output), -1)
	slices.Sort(results)
	return results
}
