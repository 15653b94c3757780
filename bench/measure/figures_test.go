package measure

import (
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFiguresAreMediansAndRatiosWithThreeDigits(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []float64{2, 3}, []float64{Median([]float64{9, 1, 2}), Median([]float64{1, 9, 2, 4})})
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
	assert.Equal(t, []float64{0.2, 5, 10, 2000}, []float64{niceStep(0.11), niceStep(5), niceStep(6), niceStep(1999)})
}
