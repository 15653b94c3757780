package main

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARowTellsWhetherItsTargetIsMet(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]struct {
		row row
		met bool
	}{
		"a median below an upper bound": {row{values: []float64{9, 1, 2}, bound: 2}, true},
		"a median above an upper bound": {row{values: []float64{1, 3, 4}, bound: 2}, false},
		"a median above a lower bound":  {row{values: []float64{1, 3, 4}, bound: 2, atLeast: true}, true},
		"a median below a lower bound":  {row{values: []float64{9, 1, 1}, bound: 2, atLeast: true}, false},
		"an even number of runs":        {row{values: []float64{1, 2, 4, 9}, bound: 3}, true},
	} {
		assert.Equal(t, r.met, r.row.met(), name)
		assert.Equal(t, !r.met, strings.Contains(table([]row{r.row}), "not met"), name)
	}
	assert.Equal(t, []float64{2, 0.5}, ratios([]float64{4, 1}, []float64{2, 2}))
	assert.Equal(t, []string{"1234", "56.8", "0.0312"}, []string{number(1234.4), number(56.78), number(0.03123)})
}

func TestAPlotIsAnSVG(t *testing.T) {
	t.Parallel()
	p := plot{title: "time", x: "tasks", y: "ms"}
	p.add(100, 3)
	p.add(100000, 12.5)
	svg := p.svg()
	require.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})))
	for _, text := range []string{">100<", ">100,000<", ">15.0 ms<", ">0 ms<", ">tasks<"} {
		assert.Contains(t, svg, text)
	}
	assert.Equal(t, []float64{0.2, 5, 10, 2000}, []float64{niceStep(0.11), niceStep(5), niceStep(6), niceStep(1999)})
}
