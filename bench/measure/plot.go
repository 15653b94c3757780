package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Plot has one or two curves, with what X names on a logarithmic axis.
type Plot struct {
	Title, X, Y string
	curves      []curve
}

type curve struct {
	name   string
	points [][2]float64
}

// Add adds a point to the curve of the name, which stands in the picture if there are two.
// All curves have points at the same x, in order.
func (p *Plot) Add(name string, x, y float64) {
	i := slices.IndexFunc(p.curves, func(c curve) bool { return c.name == name })
	if i < 0 {
		i = len(p.curves)
		p.curves = append(p.curves, curve{name: name})
	}
	p.curves[i].points = append(p.curves[i].points, [2]float64{x, y})
}

const (
	plotWidth, plotHeight    = 640.0, 320.0
	plotLeft, plotRight      = 70.0, 40.0
	plotTop, plotBottom      = 44.0, 48.0
	plotAreaWidth            = plotWidth - plotLeft - plotRight
	plotAreaHeight           = plotHeight - plotTop - plotBottom
	plotStyle                = `text{font:13px sans-serif;fill:#333}.title{font-size:15px}.axis{stroke:#999}.curve{fill:none;stroke:#2563eb;stroke-width:2}.point{fill:#2563eb}@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{stroke:#777}.curve{stroke:#7aa7ff}.point{fill:#7aa7ff}}`
	secondStyle              = `.curve.second{stroke:#d97706}.point.second{fill:#d97706}`
	plotTicks                = 4
	plotLabelDown, plotLabel = 18.0, 8.0
)

// SVG draws the plot, readable on light and on dark ground.
func (p Plot) SVG() string {
	first := p.curves[0].points
	low, high := math.Log10(first[0][0]), math.Log10(first[len(first)-1][0])
	top, style := 0.0, plotStyle
	for i, c := range p.curves {
		for _, point := range c.points {
			top = max(top, point[1])
		}
		if i > 0 {
			style = plotStyle + secondStyle
		}
	}
	step := niceStep(top / plotTicks)
	top = step * math.Ceil(top/step)
	x := func(value float64) float64 {
		return plotLeft + plotAreaWidth*(math.Log10(value)-low)/(high-low)
	}
	y := func(value float64) float64 { return plotTop + plotAreaHeight*(1-value/top) }

	var svg strings.Builder
	draw := func(format string, args ...interface{}) { fmt.Fprintf(&svg, format+"\n", args...) }
	draw(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img"><title>%s</title><style>%s</style>`, plotWidth, plotHeight, p.Title, style)
	draw(`<text class="title" x="%.0f" y="24">%s</text>`, plotLeft, p.Title)
	for value := 0.0; value <= top*1.001; value += step {
		draw(`<line class="axis" stroke-opacity="0.4" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, plotLeft, y(value), plotWidth-plotRight, y(value))
		draw(`<text text-anchor="end" x="%.1f" y="%.1f">%s %s</text>`, plotLeft-plotLabel, y(value)+4, Number(value), p.Y)
	}
	draw(`<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, plotLeft, y(0), plotWidth-plotRight, y(0))
	for _, point := range first {
		draw(`<text text-anchor="middle" x="%.1f" y="%.1f">%s</text>`, x(point[0]), y(0)+plotLabelDown, thousands(point[0]))
	}
	for i, c := range p.curves {
		class := []string{"", " second"}[i]
		var line []string
		for _, point := range c.points {
			line = append(line, fmt.Sprintf("%.1f,%.1f", x(point[0]), y(point[1])))
			draw(`<circle class="point%s" cx="%.1f" cy="%.1f" r="3"/>`, class, x(point[0]), y(point[1]))
		}
		draw(`<polyline class="curve%s" points="%s"/>`, class, strings.Join(line, " "))
		if len(p.curves) > 1 {
			down := plotTop + plotLabelDown*float64(i+1)
			draw(`<circle class="point%s" cx="%.1f" cy="%.1f" r="4"/>`, class, plotLeft+2*plotLabel, down-4)
			draw(`<text x="%.1f" y="%.1f">%s</text>`, plotLeft+4*plotLabel, down, c.name)
		}
	}
	draw(`<text text-anchor="middle" x="%.1f" y="%.1f">%s</text></svg>`, plotLeft+plotAreaWidth/2, y(0)+2*plotLabelDown, p.X)
	return svg.String()
}

// niceStep returns the smallest of 1, 2 and 5 times a power of ten that is at
// least as large.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least {
			return factor * power
		}
	}
	return 10 * power
}

// thousands is a whole number with commas.
func thousands(value float64) string {
	text := fmt.Sprintf("%.0f", value)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
