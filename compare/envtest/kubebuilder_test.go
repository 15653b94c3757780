package envtest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func onlyForEnvtest(t *testing.T) {
	if os.Getenv("KUBE2014_ENVTEST") == "" {
		t.Skip("make envtest-suites runs it")
	}
}

// The suites are compiled once, and run with each of two folders of programs.
func TestTheSuitesOfAKubebuilderProjectPassAsOnKubeAPIServer(t *testing.T) {
	onlyForEnvtest(t)
	t.Parallel()
	const project = "../../kubebuilder"
	todays, ours := assets(t, "../../bin"), assets(t, "../../bin/envtest")
	inFolder(t, project, "go", "generate", ".")
	for suite, specs := range map[string]int{"internal/controller": 8, "internal/webhook/v1": 5} {
		t.Run(suite, func(t *testing.T) {
			folder, program := filepath.Join(project, suite), filepath.Join(t.TempDir(), "suite.test")
			inFolder(t, folder, "go", "test", "-c", "-o", program, ".")
			want := outcomes(t, folder, program, todays)
			assert.Len(t, want, specs+3) // BeforeSuite, AfterSuite, and the test that runs the specs
			assert.Empty(t, failures(want))
			assert.Equal(t, want, outcomes(t, folder, program, ours))
		})
	}
}

func inFolder(t *testing.T, folder, program string, args ...string) {
	command := exec.Command(program, args...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// assets returns a folder with the programs that envtest starts, and nothing else.
func assets(t *testing.T, from string) string {
	folder := t.TempDir()
	t.Cleanup(func() { endAll(t, folder) })
	for _, name := range []string{"kube-apiserver", "etcd", "kubectl"} {
		program, err := filepath.Abs(filepath.Join(from, name))
		require.NoError(t, err)
		require.FileExists(t, program, "make envtest makes ours, make bin/kube-apiserver bin/etcd bin/kubectl today's")
		require.NoError(t, os.Symlink(program, filepath.Join(folder, name)))
	}
	return folder
}

// endAll ends the programs of a folder: some suites leave a server behind.
func endAll(t *testing.T, folder string) {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, command := range commands {
		line, err := os.ReadFile(command)
		if err != nil || !strings.HasPrefix(string(line), folder+"/") { // it has ended, or is another's
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(command)))
		require.NoError(t, err)
		process, err := os.FindProcess(pid)
		require.NoError(t, err)
		t.Logf("%s is left behind: %v", strings.SplitN(string(line), "\x00", 2)[0], process.Kill())
	}
}

// An outcome is how a spec, or a test of Go, ended.
type outcome struct{ state, failure string }

var testsOfGo = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+)`)

// outcomes runs a suite in its folder, and returns how each of its specs and tests ended.
func outcomes(t *testing.T, folder, program, assets string, args ...string) map[string]outcome {
	file := filepath.Join(t.TempDir(), "report.json")
	run := exec.Command(program, append(args, "-test.v", "-ginkgo.seed=1", "-ginkgo.no-color", "-ginkgo.json-report="+file)...)
	run.Dir, run.Env = folder, append(os.Environ(), "KUBEBUILDER_ASSETS="+assets, "USE_EXISTING_CLUSTER=false")
	output, err := run.CombinedOutput()
	text, noReport := os.ReadFile(file)
	if errors.Is(noReport, fs.ErrNotExist) { // it panicked
		return map[string]outcome{"the suite": {"panicked", string(output)}}
	}
	require.NoError(t, noReport)
	var reports []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
			Failure                           struct{ Message string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &reports))
	require.Len(t, reports, 1)
	ended := map[string]outcome{}
	for _, spec := range reports[0].SpecReports {
		name := strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeType, spec.LeafNodeText), " ")
		for ended[name] != (outcome{}) { // two specs may have one name
			name += " again"
		}
		ended[name] = outcome{spec.State, spec.Failure.Message}
	}
	for _, test := range testsOfGo.FindAllSubmatch(output, -1) {
		state := map[string]string{"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}[string(test[1])]
		ended[string(test[2])] = outcome{state: state}
	}
	assert.Equal(t, err != nil, len(failures(ended)) > 0, "%v: %s", err, output)
	return ended
}

// failures returns the outcomes that are failures.
func failures(ended map[string]outcome) map[string]outcome {
	failed := map[string]outcome{}
	for name, as := range ended {
		if as.state != "passed" && as.state != "pending" && as.state != "skipped" {
			failed[name] = as
		}
	}
	return failed
}
