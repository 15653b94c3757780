package envtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The suites are compiled once, and run with each of two folders of programs.
func TestTheSuitesOfAKubebuilderProjectPassAsOnKubeAPIServer(t *testing.T) {
	if os.Getenv("KUBE2014_ENVTEST") == "" {
		t.Skip("make envtest-suites runs it")
	}
	t.Parallel()
	const project = "../../kubebuilder"
	todays, ours := assets(t, "../../bin"), assets(t, "../../bin/envtest")
	inFolder(t, project, "go", "generate", ".")
	for suite, specs := range map[string]int{"internal/controller": 8, "internal/webhook/v1": 5} {
		t.Run(suite, func(t *testing.T) {
			folder, program := filepath.Join(project, suite), filepath.Join(t.TempDir(), "suite.test")
			inFolder(t, folder, "go", "test", "-c", "-o", program, ".")
			want := outcomes(t, folder, program, todays)
			assert.Len(t, want, specs+2) // BeforeSuite and AfterSuite
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
	for _, name := range []string{"kube-apiserver", "etcd", "kubectl"} {
		program, err := filepath.Abs(filepath.Join(from, name))
		require.NoError(t, err)
		require.FileExists(t, program, "make envtest makes ours, make bin/kube-apiserver bin/etcd bin/kubectl today's")
		require.NoError(t, os.Symlink(program, filepath.Join(folder, name)))
	}
	return folder
}

// outcomes runs a suite in its folder, and returns how each of its specs ended. None may fail.
func outcomes(t *testing.T, folder, program, assets string) map[string]string {
	file := filepath.Join(t.TempDir(), "report.json")
	run := exec.Command(program, "-ginkgo.no-color", "-ginkgo.json-report", file)
	run.Dir, run.Env = folder, append(os.Environ(), "KUBEBUILDER_ASSETS="+assets)
	output, err := run.CombinedOutput()
	assert.NoError(t, err, "%s", output)
	text, err := os.ReadFile(file)
	require.NoError(t, err, "%s", output)
	var reports []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
		}
	}
	require.NoError(t, json.Unmarshal(text, &reports))
	require.Len(t, reports, 1)
	states := map[string]string{}
	for _, spec := range reports[0].SpecReports {
		states[strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeType, spec.LeafNodeText), " ")] = spec.State
	}
	return states
}
