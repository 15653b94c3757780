package envtest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These are left out: they start no server, but scripts that are not executable in the cache of modules, or they download a server.
var leftOut = []string{
	"-ginkgo.skip=insecure serving is set, on a binary that supports it|insecureserving is disabled, on binaries",
	"-test.skip=/aggregatedDiscovery=false",
}

// It is not parallel, since it measures. A suite that fails is run again, once: some of its specs wait for a second at most.
func TestTheSuitesOfControllerRuntimePassAsOnKubeAPIServer(t *testing.T) {
	onlyForEnvtest(t)
	source, todays, ours := controllerRuntime(t).Dir, assets(t, "../../bin"), assets(t, "../../bin/envtest")
	table := "\nsuite                                ran  passed on today's  on ours  seconds on today's  on ours"
	for _, suite := range []string{
		"builder", "cache", "client", "client/apiutil", "cluster", "controller", "controller/controllerutil", "envtest", "handler",
		"internal/controller", "internal/recorder", "internal/testing/controlplane", "manager", "manager/internal/integration",
		"metrics/filters", "reconcile", "source", "webhook",
	} {
		t.Run(suite, func(t *testing.T) {
			folder, program := filepath.Join(source, "pkg", suite), filepath.Join(t.TempDir(), "suite.test")
			inFolder(t, folder, "go", "test", "-c", "-o", program, ".")
			run := func(whose, assets string) (map[string]outcome, time.Duration) {
				start := time.Now()
				ended := outcomes(t, folder, program, assets, leftOut...)
				if failed := failures(ended); len(failed) > 0 {
					t.Logf("it is run again with %s, since these failed: %v", whose, failed)
					start = time.Now()
					ended = outcomes(t, folder, program, assets, leftOut...)
				}
				took := time.Since(start)
				assert.Empty(t, failures(ended))
				return ended, took
			}
			onTodays, tookTodays := run("today's", todays)
			onOurs, tookOurs := run("ours", ours)
			assert.Equal(t, states(onTodays), states(onOurs))
			ran, passed := len(onTodays)-count(onTodays, "pending")-count(onTodays, "skipped"), count(onTodays, "passed")
			assert.NotZero(t, passed)
			table += fmt.Sprintf("\n%-35s %4d %18d %8d %19.1f %8.1f",
				suite, ran, passed, count(onOurs, "passed"), tookTodays.Seconds(), tookOurs.Seconds())
		})
	}
	t.Log(table)
}

type module struct{ Dir, Version string }

// controllerRuntime returns the version of the module that the clients have, and the folder of its source.
func controllerRuntime(t *testing.T) (runtime module) {
	output, err := exec.Command("go", "-C", "../../clients", "mod", "download", "-json", "sigs.k8s.io/controller-runtime").Output()
	require.NoError(t, err, "%s", output)
	require.NoError(t, json.Unmarshal(output, &runtime))
	return runtime
}

// states returns how all ended.
func states(ended map[string]outcome) map[string]string {
	states := map[string]string{}
	for name, as := range ended {
		states[name] = as.state
	}
	return states
}

func count(ended map[string]outcome, state string) (n int) {
	for _, as := range ended {
		if as.state == state {
			n++
		}
	}
	return n
}
