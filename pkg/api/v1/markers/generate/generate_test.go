// Package generate makes the table of package markers from the Go source of the modules in go.mod.
package generate

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table anew")

const tableFile = "../table.txt"

func TestTheTableIsMadeOfTheModulesInGoMod(t *testing.T) {
	t.Parallel()
	want, err := makeTable()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(tableFile, want, 0o644))
	}
	got, err := os.ReadFile(tableFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "go test ./pkg/api/v1/markers/generate -update makes it anew")
}

// sources are the modules, and the patterns of their packages. Alphas and betas are not served.
var sources = []struct {
	module   string
	packages []string
}{
	{"k8s.io/api", []string{"*/v[0-9]"}},
	{"k8s.io/apiextensions-apiserver", []string{"pkg/apis/apiextensions/v1"}},
	{"k8s.io/kube-aggregator", []string{"pkg/apis/apiregistration/v1"}},
	{"k8s.io/apimachinery", []string{"pkg/api/resource", "pkg/apis/meta/v1", "pkg/runtime", "pkg/util/intstr"}},
}

// noKinds are packages without a kind that is served as a resource.
var noKinds = []string{"k8s.io/api/admission/v1", "k8s.io/api/apidiscovery/v2"}

// makeTable returns the table of all sources. It runs the go command to find them.
func makeTable() ([]byte, error) {
	t := table{map[string][]string{}, map[string]string{}}
	for _, source := range sources {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", source.module).Output()
		if err != nil {
			return nil, fmt.Errorf("find module %s: %w", source.module, err)
		}
		root := strings.TrimSpace(string(dir))
		for _, pattern := range source.packages {
			packages, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil || len(packages) == 0 {
				return nil, fmt.Errorf("no package %s in module %s: %v", pattern, source.module, err)
			}
			for _, dir := range packages {
				path := source.module + filepath.ToSlash(strings.TrimPrefix(dir, root))
				if slices.Contains(noKinds, path) {
					continue
				}
				read, err := readPackage(path, dir)
				if err == nil {
					err = t.add(read)
				}
				if err != nil {
					return nil, err
				}
			}
		}
	}
	return t.encode(), nil
}
