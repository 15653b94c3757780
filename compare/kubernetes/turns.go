package main

import "fmt"

// measurement is what becomes a row.
type measurement struct {
	what, unit string
	goals      goals
	of         func(s *side, run int) (float64, error)
}

// goals tells by the names of ours how many times as good as kube-apiserver they are to be.
type goals map[string]float64

// byTurns measures one side after the other, some times.
func (c *comparison) byTurns(sides []*side, measurements ...measurement) error {
	var rows []row
	for _, m := range measurements {
		rows = append(rows, row{m, map[string][]float64{}})
	}
	for run := range runs {
		for _, s := range sides {
			for _, r := range rows {
				value, err := r.of(s, run)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", s.name, r.what, err)
				}
				r.values[s.name] = append(r.values[s.name], value)
			}
		}
	}
	c.rows = append(c.rows, rows...)
	return nil
}
