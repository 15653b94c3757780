package kube2014

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var required = regexp.MustCompile(`(?m)^\t(?:\S+ => )?(\S+) (v\S+)`)

// To compile client-go takes minutes, but not if it has been compiled for kubectl. That needs
// the same versions of all that it uses.
func TestTheClientsAreBuiltOfWhatKubectlIsBuiltOf(t *testing.T) {
	t.Parallel()
	versions := map[string]string{}
	for _, module := range required.FindAllStringSubmatch(read(t, "tools/kubernetes/go.mod"), -1) {
		versions[module[1]] = module[2]
	}
	same := 0
	for _, module := range required.FindAllStringSubmatch(read(t, "clients/go.mod"), -1) {
		if version, known := versions[module[1]]; known {
			assert.Equal(t, version, module[2], "clients/go.mod: %s", module[1])
			same++
		}
	}
	assert.Greater(t, same, 20)
}

// A template calls methods by names that are only known at run time. With one in the program, the linker keeps all
// methods of all types, which are a sixth of the program. A library that imports them, but does not use them, does no harm.
func TestMakeBuildsAProgramWithoutTemplates(t *testing.T) {
	t.Parallel()
	tags := regexp.MustCompile(`\$\(GO\) build -tags (\S+) .*cmd/apiserver`).FindStringSubmatch(read(t, "Makefile"))
	require.NotNil(t, tags)
	program := filepath.Join(t.TempDir(), "apiserver")
	build := exec.Command("go", "build", "-tags", tags[1], "-o", program, "./cmd/apiserver")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	printedBy(t, build)
	symbols := printedBy(t, exec.Command("go", "tool", "nm", program))
	assert.Contains(t, symbols, "cel-go/cel.(*Env).")
	assert.NotContains(t, symbols, "text/template.(*state)")
}
