package main

import (
	_ "embed" // of notes.md
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// row is one line of the table: what was measured, in each run, and the target.
type row struct {
	what, unit, detail string
	values             []float64
	bound              float64
	atLeast            bool // the bound is a lower one
}

func (b *bench) add(r row) { b.rows = append(b.rows, r) }

func (r row) met() bool {
	if r.atLeast {
		return median(r.values) >= r.bound
	}
	return median(r.values) <= r.bound
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// ratios divides the values run by run, because a noisy machine slows both sides
// of a run.
func ratios(a, b []float64) []float64 {
	quotients := make([]float64, len(a))
	for i := range a {
		quotients[i] = a[i] / b[i]
	}
	return quotients
}

func table(rows []row) string {
	var text strings.Builder
	for _, r := range rows {
		sign, verdict := "≤", "met"
		if r.atLeast {
			sign = "≥"
		}
		if !r.met() {
			verdict = "not met"
		}
		fmt.Fprintf(&text, "| %s | %s %s %s | %s | %s – %s | %s | %s |\n", r.what, sign, number(r.bound), r.unit,
			number(median(r.values)), number(slices.Min(r.values)), number(slices.Max(r.values)), r.detail, verdict)
	}
	return text.String()
}

func number(value float64) string {
	switch {
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.3g", value)
}

//go:embed notes.md
var notes string

// writeReport writes performance.md and its plots.
func writeReport(docs string, b *bench) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Performance\n\nWritten by `make bench` on %s: %s, %d cores,\n%s. Both sides of a ratio are measured in turn, in one run of the benchmark. The "+
		"last\nfigures are their medians.\n\n", time.Now().Format("2 January 2006"), processor(), runtime.NumCPU(), runtime.Version())
	text.WriteString("| what | target | median | smallest – largest | figures | |\n|---|---|---|---|---|---|\n" + table(b.rows) + "\n")
	for _, p := range b.plots {
		file := "performance-" + p.file + ".svg"
		fmt.Fprintf(&text, "![%s, measured at %d sizes on a logarithmic axis](%s)\n\n", p.title, len(p.points), file)
		if err := os.WriteFile(filepath.Join(docs, file), []byte(p.svg()), 0o644); err != nil {
			return err
		}
	}
	text.WriteString(notes)
	return os.WriteFile(filepath.Join(docs, "performance.md"), []byte(text.String()), 0o644)
}

// processor is what the system calls the processor.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	match := regexp.MustCompile(`model name\s*:\s*(.*)`).FindSubmatch(data)
	if err != nil || match == nil {
		return runtime.GOARCH
	}
	return string(match[1])
}
