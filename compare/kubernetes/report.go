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

// row is one line of the table: what was measured of ours and of kube-apiserver, in each
// run.
type row struct {
	what, where  string // where: which of ours
	unit         string
	ours, theirs []float64
	goal         goal
}

// goal bounds the ratio of ours to theirs.
type goal struct {
	measure.Goal
	speed bool // the values are times; the ratio is that of their inverses
}

func atMost(bound float64) goal  { return goal{Goal: measure.Goal{Bound: bound}} }
func atLeast(bound float64) goal { return goal{Goal: measure.Goal{Bound: bound, AtLeast: true}} }

// faster is a goal for times, in the words of speed.
func faster(bound float64) goal {
	return goal{Goal: measure.Goal{Bound: bound, AtLeast: true}, speed: true}
}

// none is no goal, with the ratio in the same words.
func (g goal) none() goal {
	g.Bound = 0
	return g
}

func (g goal) isNone() bool { return g.Bound == 0 }

func (g goal) String() string {
	if g.isNone() {
		return "–"
	}
	if g.AtLeast {
		return "≥ " + times(g.Bound)
	}
	return "≤ " + times(g.Bound)
}

func (r row) ratios() []float64 {
	if r.goal.speed {
		return measure.Ratios(r.theirs, r.ours)
	}
	return measure.Ratios(r.ours, r.theirs)
}

func table(rows []row) string {
	var text strings.Builder
	text.WriteString("| what | ours is | ours | kube-apiserver | ratio | smallest – largest | goal | |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		ratios, verdict := r.ratios(), ""
		if !r.goal.isNone() {
			verdict = r.goal.Verdict(ratios)
		}
		fmt.Fprintf(&text, "| %s | %s | %s %s | %s %s | %s | %s – %s | %s | %s |\n", r.what, r.where,
			measure.Number(measure.Median(r.ours)), r.unit, measure.Number(measure.Median(r.theirs)), r.unit, times(measure.Median(ratios)),
			times(slices.Min(ratios)), times(slices.Max(ratios)), r.goal, verdict)
	}
	return text.String()
}

// times is a ratio in words: a small one is a fraction.
func times(ratio float64) string {
	plain := func(value float64) string { return strings.TrimSuffix(measure.Number(value), ".0") }
	if ratio > 0 && ratio < 0.3 {
		return "1/" + plain(1/ratio)
	}
	return plain(ratio) + " ×"
}

//go:embed notes.md
var notes string

// write writes compare.md and its plots.
func (c *comparison) write(docs string) error {
	goals, met := 0, 0
	for _, r := range c.rows {
		if r.goal.isNone() {
			continue
		}
		goals++
		if r.goal.Met(r.ratios()) {
			met++
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# Beside today's kube-apiserver\n\nWritten by `make compare` on %s: %s. kube-apiserver 1.36.3 on its etcd, and ours, were measured by turns in one run of\n"+
		"`make compare`. The figures are medians of %d runs, the ratios were taken run by run. %d of %d goals are met.\n\n%s\n",
		time.Now().Format("2 January 2006"), measure.Machine(), runs, met, goals, table(c.rows))
	for _, p := range c.plots {
		file := "compare-" + p.File + ".svg"
		fmt.Fprintf(&text, "![%s, on both servers, measured at %d sizes on a logarithmic axis](%s)\n\n", p.Title, p.Len(), file)
		if err := os.WriteFile(filepath.Join(docs, file), []byte(p.SVG()), 0o644); err != nil {
			return err
		}
	}
	text.WriteString("## With kubectl\n\n" + c.kubectl + "\n" + notes)
	return os.WriteFile(filepath.Join(docs, "compare.md"), []byte(text.String()), 0o644)
}
