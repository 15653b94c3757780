package size

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASymbolCountsForTheModuleOfItsPackage(t *testing.T) {
	t.Parallel()
	s := Sizes{libraries: map[string]int64{"k8s.io/api": 0, "k8s.io/apimachinery": 0, "gopkg.in/natefinch/lumberjack.v2": 0, "go.etcd.io/etcd/client/v3": 0}}
	for _, line := range []string{
		"  10  1 T k8s.io/api/core/v1.(*Pod).Size", "10 2 R type:*k8s.io/api/core/v1.Pod", "10 4 t k8s.io/apimachinery/pkg/types.Nothing",
		"10 8 T gopkg.in/natefinch/lumberjack%2ev2.(*Logger).Write", "10 16 D go.etcd.io/etcd/client/v3..inittask",
		"10 32 B k8s.io/api/core/v1.zeroed", "10 64 T runtime.main", "U k8s.io/api/core/v1.elsewhere", "10 128 T k8s.io/apiserver/pkg/audit.x",
	} {
		s.add(strings.Fields(line))
	}
	assert.Equal(t, map[string]int64{"k8s.io/api": 3, "k8s.io/apimachinery": 4, "gopkg.in/natefinch/lumberjack.v2": 8, "go.etcd.io/etcd/client/v3": 16}, s.libraries)
}

func TestTheSizesOfAProgramStandInTheREADME(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "apiserver")
	require.NoError(t, exec.Command("go", "build", "-o", program, "kube2014/cmd/apiserver").Run())
	s, err := Measure(program)
	require.NoError(t, err)
	assert.Greater(t, s.whole, s.stripped)
	assert.Greater(t, s.stripped, int64(10e6))
	assert.Greater(t, s.libraries["k8s.io/api"], int64(1e6))

	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	s = Sizes{whole: 1234e6, stripped: 567e6, libraries: map[string]int64{"k8s.io/api": 7e6}}
	text := s.InREADME(string(readme), 89.4)
	assert.Contains(t, text, "The program has 1234 MB, or 567 MB without debug information, and answers 89 ms")
	assert.Contains(t, text, "| `k8s.io/api` | today's wire types | 7.00 |")
	assert.Equal(t, strings.Count(string(readme), "\n"), strings.Count(text, "\n"))
}
