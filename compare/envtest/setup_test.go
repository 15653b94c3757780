package envtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSetupEnvtestTakesTheArchiveOfARelease(t *testing.T) {
	onlyForEnvtest(t)
	t.Parallel()
	suffix := "-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	archives, err := filepath.Glob("../../bin/release/envtest-v*" + suffix)
	require.NoError(t, err)
	require.NotEmpty(t, archives, "make archives makes it")
	module, store := controllerRuntime(t), t.TempDir()
	setup := func(args ...string) string {
		tool := "sigs.k8s.io/controller-runtime/tools/setup-envtest@" + module.Version
		command := exec.Command("go", append([]string{"run", tool, "--bin-dir", store, "--print", "path"}, args...)...)
		archive, err := os.Open(archives[0])
		require.NoError(t, err)
		defer archive.Close()
		command.Stdin = archive
		output, err := command.Output()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archives[0]), "envtest-v"), suffix)
	t.Cleanup(func() { setup("cleanup", version) }) // the folder that it makes is read-only
	folder := setup("sideload", version)
	assert.Equal(t, folder, setup("use", "--installed-only", version))
	for _, name := range []string{"kube-apiserver", "etcd"} {
		inFolder(t, ".", filepath.Join(folder, name), "--version")
	}
}
