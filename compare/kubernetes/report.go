package main

import (
	_ "embed" // of notes.md
	"fmt"
	"slices"
	"strings"
	"time"

	"kube2014/bench/measure"
)

// row is a measurement with its values in each run, by the name of the side.
type row struct {
	measurement
	values map[string][]float64
}

const perSecond = "/s" // the unit of which more is better; of all others, less is

// columns are ours.
var columns = []string{inMemory, onEtcd2, onEtcd3}

// factors tells how many times as good as kube-apiserver one of ours is, in each run.
func (r row) factors(ours string) []float64 {
	if r.unit == perSecond {
		return measure.Ratios(r.values[ours], r.values[kubeAPIServer])
	}
	return measure.Ratios(r.values[kubeAPIServer], r.values[ours])
}

func (r row) misses(ours string) bool { return measure.Median(r.factors(ours)) < r.goals[ours] }

func (r row) median(side string) string {
	return measure.Number(measure.Median(r.values[side])) + r.unit
}

// cell is what compare.md has of one of ours. A factor is bold if kube-apiserver is better.
func (r row) cell(ours string) string {
	if r.values[ours] == nil {
		return "–"
	}
	factor := measure.Median(r.factors(ours))
	text := measure.Number(factor)
	if factor < 1 {
		text = "**" + text + "**"
	}
	if r.misses(ours) {
		text += " (goal " + measure.Number(r.goals[ours]) + ")"
	}
	return text
}

// table has all figures, with what compare.md leaves out.
func table(rows []row) string {
	var text strings.Builder
	for _, r := range rows {
		for _, ours := range append(slices.Clone(columns), onNothing) {
			if r.values[ours] != nil {
				fmt.Fprintf(&text, "| %s | %s | %s vs %s | %s | %s – %s |\n", r.what, ours, r.median(ours), r.median(kubeAPIServer), r.cell(ours),
					measure.Number(slices.Min(r.factors(ours))), measure.Number(slices.Max(r.factors(ours))))
			}
		}
	}
	return text.String()
}

//go:embed notes.md
var notes string

// document is compare.md.
func (c *comparison) document() string {
	var lines strings.Builder
	all, missed := 0, 0
	for _, r := range c.rows {
		what := r.what
		if r.values[onNothing] != nil {
			what += ", bare server " + measure.Number(measure.Median(r.factors(onNothing)))
		}
		fmt.Fprintf(&lines, "| %s | %s |", what, r.median(kubeAPIServer))
		for _, ours := range columns {
			fmt.Fprintf(&lines, " %s |", r.cell(ours))
		}
		lines.WriteString("\n")
		for ours := range r.goals {
			all++
			if r.misses(ours) {
				missed++
			}
		}
	}
	return fmt.Sprintf("# Beside today's kube-apiserver\n\nWritten by `make compare` on %s: %s. The columns of ours are factors: how many times as fast as\n"+
		"kube-apiserver 1.36.3, or how many times less memory. They are medians of %d runs by turns, and bold\n"+
		"where kube-apiserver is better. %d of %d goals are met, the others shown.\n\n| what | kube-apiserver | ours %s |\n|---|---|---|---|---|\n%s\n%s\n%s",
		time.Now().Format("2 January 2006"), measure.Machine(), runs, all-missed, all, strings.Join(columns, " | "), &lines, c.kubectl, notes)
}

// write writes compare.md and its plot.
func (c *comparison) write(docs string) error {
	return measure.WriteReport(docs, "compare.md", c.document(), map[string]measure.Plot{"compare-list.svg": c.plot})
}
