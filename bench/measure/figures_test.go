package measure

import (
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAGoalIsMetByTheMedian(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		goal   Goal
		values []float64
		met    bool
	}{
		"a median below an upper bound": {Goal{Bound: 2}, []float64{9, 1, 2}, true},
		"a median above an upper bound": {Goal{Bound: 2}, []float64{1, 3, 4}, false},
		"a median above a lower bound":  {Goal{Bound: 2, AtLeast: true}, []float64{1, 3, 4}, true},
		"a median below a lower bound":  {Goal{Bound: 2, AtLeast: true}, []float64{9, 1, 1}, false},
		"an even number of runs":        {Goal{Bound: 3}, []float64{1, 2, 4, 9}, true},
	} {
		assert.Equal(t, row.met, row.goal.Met(row.values), name)
	}
	assert.Equal(t, []string{"≤ 0.5", "≥ 8"}, []string{Goal{Bound: 0.5}.String(), Goal{Bound: 8, AtLeast: true}.String()})
	assert.Equal(t, []float64{2, 0.5}, Ratios([]float64{4, 1}, []float64{2, 2}))
	assert.Equal(t, []string{"1234", "56.8", "57", "0.0312"}, []string{Number(1234.4), Number(56.78), Number(57), Number(0.03123)})
}

func TestAPlotIsAnSVG(t *testing.T) {
	t.Parallel()
	p := Plot{Title: "time", X: "tasks", Y: "ms"}
	p.Add("ours", 100, 3)
	p.Add("ours", 100000, 12.5)
	svg := p.SVG()
	assert.NotContains(t, svg, "ours", "it is alone")
	require.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})))
	for _, text := range []string{">100<", ">100,000<", ">15 ms<", ">0 ms<", ">tasks<"} {
		assert.Contains(t, svg, text)
	}
	p.Add("theirs", 100, 20)
	p.Add("theirs", 100000, 30)
	svg = p.SVG()
	require.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})))
	for _, text := range []string{">ours<", ">theirs<", ">30 ms<", `class="curve second"`} {
		assert.Contains(t, svg, text)
	}
	assert.Equal(t, 2, p.Len())
	assert.Equal(t, []float64{0.2, 5, 10, 2000}, []float64{niceStep(0.11), niceStep(5), niceStep(6), niceStep(1999)})
}
