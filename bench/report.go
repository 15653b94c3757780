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

// row is what was measured, in each run, and its target.
type row struct {
	what, unit, detail string
	values             []float64
	bound              float64 // of the median; 0 for none
	atLeast            bool    // the bound is a lower one
	aside              bool    // performance.md has it only if it misses its target
}

func (b *bench) add(r row) { b.rows = append(b.rows, r) }

// addRates adds a row that compares two rates, whose ratio is to be at least the bound.
func (b *bench) addRates(what, unit string, ours, theirs []float64, bound float64) {
	b.add(row{what: what, unit: unit, values: measure.Ratios(ours, theirs), bound: bound, atLeast: true,
		detail: fmt.Sprintf("%.0f/s vs %.0f/s", measure.Median(ours), measure.Median(theirs))})
}

// setAside keeps the last row out of performance.md while it meets its target.
func (b *bench) setAside() { b.rows[len(b.rows)-1].aside = true }

func (r row) missed() bool {
	median := measure.Median(r.values)
	return r.bound != 0 && (r.atLeast && median < r.bound || !r.atLeast && median > r.bound)
}

func (r row) String() string {
	target := "≤ " + measure.Number(r.bound)
	switch {
	case r.bound == 0:
		target = "–"
	case r.atLeast:
		target = "≥ " + measure.Number(r.bound)
	}
	if r.missed() {
		target += ", **missed**"
	}
	return fmt.Sprintf("| %s | %s %s | %s |", r.what, measure.Number(measure.Median(r.values)), r.unit, target)
}

// table has all rows, with what performance.md leaves out.
func table(rows []row) string {
	var text strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&text, "%s %s – %s | %s |\n", r, measure.Number(slices.Min(r.values)), measure.Number(slices.Max(r.values)), r.detail)
	}
	return text.String()
}

//go:embed notes.md
var notes string

// document is performance.md.
func document(rows []row) string {
	var lines strings.Builder
	targets, missed := 0, 0
	for _, r := range rows {
		if r.bound != 0 {
			targets++
		}
		if r.missed() {
			missed++
		}
		if !r.aside || r.missed() {
			fmt.Fprintln(&lines, r)
		}
	}
	return fmt.Sprintf("# Performance\n\nWritten by `make bench` on %s: %s. %d of %d targets are met. The figures are medians; both sides\n"+
		"of a ratio were measured by turns. The run prints more rows; all that miss their target are here.\n\n| what | median | target |\n|---|---|---|\n%s\n%s",
		time.Now().Format("2 January 2006"), measure.Machine(), targets-missed, targets, &lines, notes)
}

// writeReport writes performance.md and its plot, and the sizes into the README beside the folder.
func writeReport(docs string, b *bench) error {
	if err := measure.WriteReport(docs, "performance.md", document(b.rows), map[string]measure.Plot{"performance-post.svg": b.plot}); err != nil {
		return err
	}
	readme := filepath.Join(docs, "..", "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	return os.WriteFile(readme, []byte(b.sizes.InREADME(string(text), b.start)), 0o644)
}
