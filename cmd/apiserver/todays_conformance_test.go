package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Kubernetes' own conformance tests are run against a cluster of today's controllers, and of our server and kubelets. The file
// has all of them, and says why some do not pass.
func TestConformanceTestsPassAsAroundKubeAPIServer(t *testing.T) {
	c := conforms(t, conformanceResults(t, "conformance.json"), func() todaysCluster { return startTodaysCluster(t, nil) })
	for _, line := range c.refused(t) {
		t.Log("refused", line)
	}
}

// Those that pass are run against what make cluster starts, with no program of today's. Another file says why some do not pass.
func TestConformanceTestsPassWithOurControllers(t *testing.T) {
	misses, own := map[string]string{}, conformanceResults(t, "conformance-own.json")
	for name, why := range conformanceResults(t, "conformance.json") {
		if why == "" {
			misses[name] = own[name]
		}
	}
	conforms(t, misses, func() todaysCluster { return startOwnCluster(t) })
}

// conformanceResults reads why each test of a file misses, "" if it passes.
func conformanceResults(t *testing.T, file string) (misses map[string]string) {
	text, err := os.ReadFile("../../testdata/today/" + file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &misses))
	return misses
}

// conforms runs on a cluster the tests that miss nothing, or those of KUBE2014_ONLY.
func conforms(t *testing.T, misses map[string]string, start func() todaysCluster) todaysCluster {
	if os.Getenv("KUBE2014_CONFORMANCE") == "" {
		t.Skip("make conformance runs it")
	}
	names := slices.Sorted(maps.Keys(misses))
	only := os.Getenv("KUBE2014_ONLY")
	names = slices.DeleteFunc(names, func(name string) bool {
		if only == "" {
			return misses[name] != "" // most miss only after minutes
		}
		return !regexp.MustCompile(only).MatchString(name)
	})
	c := start()
	passed := 0
	for _, outcome := range runConformance(t, c.kubeconfig, names) {
		why, known := misses[outcome.name]
		require.True(t, known, outcome.name)
		assert.Equal(t, why == "", outcome.failure == "", "%s\n%s\n%s", outcome.name, why, outcome.failure)
		result := "passes"
		if outcome.failure != "" {
			result = "misses: " + why
		} else {
			passed++
		}
		t.Logf("%6.1f s  %s  %s", outcome.took.Seconds(), outcome.name, result)
	}
	t.Log(passed, "of", len(names), "pass")
	return c
}

// outcome is that of one test; the failure is "" if it passed.
type outcome struct {
	name, failure string
	took          time.Duration
}

// runConformance runs the serial tests one after the other, and before them the others in some processes, since most of them
// wait. As many run at a time as go test's -parallel says.
func runConformance(t *testing.T, kubeconfig string, names []string) []outcome {
	const processes = 6
	var shares [processes][]string
	var serial []string
	for i, name := range names {
		if strings.Contains(name, "[Serial]") {
			serial = append(serial, name)
		} else {
			shares[i%processes] = append(shares[i%processes], name)
		}
	}
	var outcomes [processes][]outcome
	t.Run("side by side", func(t *testing.T) {
		for i, share := range shares {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				outcomes[i] = runConformanceTests(t, kubeconfig, share)
			})
		}
	})
	return append(slices.Concat(outcomes[:]...), runConformanceTests(t, kubeconfig, serial)...)
}

func runConformanceTests(t *testing.T, kubeconfig string, names []string) (outcomes []outcome) {
	if len(names) == 0 {
		return nil
	}
	path, err := filepath.Abs("../../bin/e2e.test")
	require.NoError(t, err)
	require.FileExists(t, path, "make bin/e2e.test builds it")
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, regexp.QuoteMeta(name))
	}
	directory := t.TempDir()
	report, log := filepath.Join(directory, "report.json"), filepath.Join(directory, "log")
	output, err := os.Create(log)
	require.NoError(t, err)
	cmd := exec.Command(path, "--kubeconfig", kubeconfig, "--provider", "skeleton", "--num-nodes", "3", "--disable-log-dump",
		"--ginkgo.focus", strings.Join(quoted, "|"), "--ginkgo.json-report", report, "--ginkgo.no-color", "--ginkgo.timeout", "2h")
	cmd.Dir, cmd.Stdout, cmd.Stderr = directory, output, output
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH")) // some call kubectl
	_ = cmd.Run()                                                                    // the report says how it ended
	text, err := os.ReadFile(report)
	require.NoError(t, err, "the log is in %s", log)
	var suites []struct {
		SpecReports []struct {
			State, LeafNodeType, LeafNodeText string
			ContainerHierarchyTexts           []string
			RunTime                           time.Duration
			Failure                           struct {
				Message  string
				Location struct {
					FileName   string
					LineNumber int
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &suites))
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType != "It" || spec.State == "skipped" && spec.RunTime == 0 {
				continue
			}
			one := outcome{name: strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " "), took: spec.RunTime}
			if spec.State != "passed" {
				one.failure = fmt.Sprintf("%s at %s:%d: %s", spec.State, spec.Failure.Location.FileName, spec.Failure.Location.LineNumber, spec.Failure.Message)
			}
			outcomes = append(outcomes, one)
		}
	}
	require.Len(t, outcomes, len(names))
	return outcomes
}
