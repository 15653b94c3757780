package kube2014

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const conformanceFile = "docs/conformance.md"

const aboutConformance = `# Kubernetes' own conformance tests

The tests of Kubernetes 1.36.3, run with its controllers and our [hollow kubelets](parts.md#the-kubelet). Those that need
real containers fail around kube-apiserver, too. A K number is a [difference](differences.md). ` + "`make conformance`" + ` runs
those that pass, also with our controllers.

`

// The file is generated: go test -run TestTheConformanceTable . -update writes it.
func TestTheConformanceTableHasAllTests(t *testing.T) {
	var results, own map[string]string // by test: "" if it passes, and else why not
	require.NoError(t, json.Unmarshal([]byte(read(t, "testdata/today/conformance.json")), &results))
	require.NoError(t, json.Unmarshal([]byte(read(t, "testdata/today/conformance-own.json")), &own))
	assert.Len(t, results, 446)
	for name := range own {
		result, known := results[name]
		assert.True(t, known && result == "", "with our controllers only those are run that pass with today's: %s", name)
	}
	counts := map[string]map[string]int{} // by group and kind of result
	var rows strings.Builder
	for _, name := range slices.Sorted(maps.Keys(results)) {
		result, kind := results[name], results[name]
		switch {
		case result == "" && own[name] != "":
			result, kind = fmt.Sprintf("passes with today's controllers (%s)", own[name]), "passes"
		case result == "":
			result, kind = "passes", "passes"
		case strings.HasPrefix(result, "K"):
			result, kind = "differs: "+result, "differs"
		}
		for _, group := range []string{strings.Fields(name)[0], "all"} {
			if counts[group] == nil {
				counts[group] = map[string]int{}
			}
			counts[group][kind]++
		}
		fmt.Fprintf(&rows, "| %s | %s |\n", strings.TrimSuffix(name, " [Conformance]"), result)
	}
	var text strings.Builder
	text.WriteString(aboutConformance + "| | pass | need real containers | differ |\n|---|---|---|---|\n")
	for _, group := range slices.Sorted(maps.Keys(counts)) {
		of := counts[group]
		assert.Subset(t, []string{"passes", "needs real containers", "differs"}, slices.Collect(maps.Keys(of)), group)
		fmt.Fprintf(&text, "| %s | %d | %d | %d |\n", group, of["passes"], of["needs real containers"], of["differs"])
	}
	text.WriteString("\n| test | |\n|---|---|\n" + rows.String())
	if *update {
		require.NoError(t, os.WriteFile(conformanceFile, []byte(text.String()), 0o644))
	}
	assert.Equal(t, text.String(), read(t, conformanceFile), "this corrects it: go test -run TestTheConformanceTable . -update")
}
