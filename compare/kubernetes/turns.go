package main

import "fmt"

// measurement is what becomes a row for each of ours.
type measurement struct {
	what, unit string
	goal       func(ours *side) goal
	of         func(s *side, run int) (float64, error)
}

// inMemory is a goal for ours in memory. On etcd, where each read asks etcd first, the row is
// for information.
func inMemory(g goal) func(*side) goal {
	return func(ours *side) goal {
		if ours.backend != "" {
			return g.none()
		}
		return g
	}
}

// information is no goal.
func information(*side) goal { return atLeast(0) }

// byTurns measures one side after the other, some times. The first side is kube-apiserver.
func (c *comparison) byTurns(sides []*side, measurements ...measurement) error {
	values := make([][][]float64, len(measurements)) // by measurement and side
	for i := range values {
		values[i] = make([][]float64, len(sides))
	}
	for run := range runs {
		for j, s := range sides {
			for i, m := range measurements {
				value, err := m.of(s, run)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", s.name, m.what, err)
				}
				values[i][j] = append(values[i][j], value)
			}
		}
	}
	for i, m := range measurements {
		for j, ours := range sides[1:] {
			c.rows = append(c.rows, row{m.what, ours.name, m.unit, values[i][j+1], values[i][0], m.goal(ours)})
		}
	}
	return nil
}
