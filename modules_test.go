package kube2014

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
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
