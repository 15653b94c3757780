package main

import (
	_ "embed" // of notes.md
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kube2014/bench/measure"
)

// row is one line of the table: what was measured, in each run, and the target.
type row struct {
	what, unit, detail string
	values             []float64
	bound              float64
	atLeast            bool // the bound is a lower one
}

func (b *bench) add(r row) { b.rows = append(b.rows, r) }

func table(rows []row) string {
	var text strings.Builder
	for _, r := range rows {
		goal := measure.Goal{Bound: r.bound, AtLeast: r.atLeast}
		target, verdict := goal.String()+" "+r.unit, goal.Verdict(r.values)
		if r.bound == 0 { // for information
			target, verdict = r.unit, ""
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s – %s | %s | %s |\n", r.what, target, measure.Number(measure.Median(r.values)),
			measure.Number(slices.Min(r.values)), measure.Number(slices.Max(r.values)), r.detail, verdict)
	}
	return text.String()
}

//go:embed notes.md
var notes string

// writeReport writes performance.md and its plots.
func writeReport(docs string, b *bench) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Performance\n\nWritten by `make bench` on %s: %s. Both sides of a ratio are measured in turn, in one run of the benchmark. The "+
		"last\nfigures are their medians.\n\n", time.Now().Format("2 January 2006"), measure.Machine())
	text.WriteString("| what | target | median | smallest – largest | figures | |\n|---|---|---|---|---|---|\n" + table(b.rows) + "\n")
	for _, p := range b.plots {
		file := "performance-" + p.File + ".svg"
		fmt.Fprintf(&text, "![%s, measured at %d sizes on a logarithmic axis](%s)\n\n", p.Title, p.Len(), file)
		if err := os.WriteFile(filepath.Join(docs, file), []byte(p.SVG()), 0o644); err != nil {
			return err
		}
	}
	text.WriteString(notes)
	return os.WriteFile(filepath.Join(docs, "performance.md"), []byte(text.String()), 0o644)
}
