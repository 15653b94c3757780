package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sample = []row{
	{what: "GET", unit: "times", values: []float64{1, 3, 4}, bound: 2, atLeast: true, detail: "3/s", aside: true},
	{what: "POST", unit: "ms", values: []float64{1, 3, 4}, bound: 2, aside: true},
	{what: "list", unit: "ms", values: []float64{9, 1, 2, 4}, bound: 3},
	{what: "memory", unit: "MB", values: []float64{7}},
}

func TestTheTableTellsTheMedianAndWhetherTheTargetIsMissed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "| GET | 3 times | ≥ 2 | 1 – 4 | 3/s |\n| POST | 3 ms | ≤ 2, **missed** | 1 – 4 |  |\n"+
		"| list | 3 ms | ≤ 3 | 1 – 9 |  |\n| memory | 7 MB | – | 7 – 7 |  |\n", table(sample))
}

func TestTheDocumentHasAllRowsThatMissTheirTarget(t *testing.T) {
	t.Parallel()
	text := document(sample)
	assert.Contains(t, text, "2 of 3 targets are met")
	assert.Contains(t, text, "|---|\n| POST | 3 ms | ≤ 2, **missed** |\n| list | 3 ms | ≤ 3 |\n| memory | 7 MB | – |\n\n"+notes)
}

func TestTheDocumentIsOfThisProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/performance.md")
	require.NoError(t, err)
	head, _, _ := strings.Cut(document(nil), " on ")
	assert.True(t, strings.HasPrefix(string(text), head))
	assert.True(t, strings.HasSuffix(string(text), " |\n\n"+notes))
}
