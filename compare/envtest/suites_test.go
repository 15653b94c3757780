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

// apply is in each failure of a spec that needs server-side apply (K7).
const apply = "415: Unsupported Media Type"

// needs are the specs that fail with ours, by suite, each with a part of its failure: they need what ours does not have.
var needs = map[string]map[string]string{
	"client": {
		"Client Apply Structured Client It should create a secret without SSA and later create update a secret using SSA": apply,
		"Client Apply Structured Client It should create and update a configMap using SSA":                                apply,
		"Client Apply Structured Client It should propagate a typed error":                                                apply,
		"Client Apply Unstructured Client It should create and update a configMap using SSA":                              apply,
		"Client New It should use the provided FieldOwner if provided":                                                    apply,
		"Client StatusClient with structured objects It should apply status":                                              apply,
		"Client StatusClient with unstructured objects It should apply status and preserve type information":              apply,
		"Client SubResourceClient with structured objects It should be able to apply the scale subresource":               apply,
		"Client SubResourceClient with unstructured objects It should be able to apply the scale subresource":             apply,
		"ClientWithFieldValidation It should return errors for invalid fields when using strict validation":               apply,
		"DryRunClient It should not change objects via status apply":                                                      apply,
		"DryRunClient It should not change objects via status apply with opts":                                            apply,
		"NamespacedClient Apply It should create a cluster scoped object":                                                 apply,
		"NamespacedClient Apply It should successfully apply an object in the right namespace":                            apply,
		"NamespacedClient Apply It should successfully apply an object in the right namespace through unstructured":       apply,
		"NamespacedClient SubResourceWriter It should change objects via status apply":                                    apply,
		"NamespacedClient SubResourceWriter It should set namespace on ApplyConfiguration when applying via SubResource":  apply,
		"TestClient": "", // it runs these
	},
}

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
			run := func(whose, assets string, expected map[string]string) (map[string]outcome, time.Duration) {
				start := time.Now()
				ended := outcomes(t, folder, program, assets, leftOut...)
				if failed := failures(ended, expected); len(failed) > 0 {
					t.Logf("it is run again with %s, since these failed: %v", whose, failed)
					start = time.Now()
					ended = outcomes(t, folder, program, assets, leftOut...)
				}
				took := time.Since(start)
				assert.Empty(t, failures(ended, expected))
				return ended, took
			}
			onTodays, tookTodays := run("today's", todays, nil)
			onOurs, tookOurs := run("ours", ours, needs[suite])
			for name := range needs[suite] {
				assert.Contains(t, onTodays, name, "no longer a spec")
				assert.NotEqual(t, "passed", onOurs[name].state, "%s passes: strike it from needs", name)
			}
			assert.Equal(t, states(onTodays, needs[suite]), states(onOurs, needs[suite]))
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

// states returns how all ended but for those that are needs: these end in two ways.
func states(ended map[string]outcome, needs map[string]string) map[string]string {
	states := map[string]string{}
	for name, as := range ended {
		if _, need := needs[name]; need {
			as.state = ""
		}
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
