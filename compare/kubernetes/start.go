package main

import (
	"time"

	"kube2014/bench/measure"
)

// idle is how long a server has nothing to do before its memory is measured.
const idle = 2 * time.Second

// measureStart measures servers that are started and, when they have been idle, stopped.
// The first start of kube-apiserver makes its certificate and its first objects: it is not
// measured.
func measureStart(c *comparison, sides []*side) error {
	for _, s := range sides {
		if err := c.start(s); err != nil {
			return err
		}
		s.Stop()
	}
	return c.byTurns(sides,
		measurement{"start to ready", " ms", goals{inMemory: 20}, func(s *side, _ int) (float64, error) {
			err := c.start(s)
			return measure.Milliseconds(s.Ready), err
		}},
		measurement{"memory, idle", " MB", goals{inMemory: 8}, func(s *side, _ int) (float64, error) {
			defer s.Stop()
			time.Sleep(idle)
			return s.memory()
		}},
	)
}

// memory is the resident memory in megabytes. An etcd's is not in it.
func (s *side) memory() (float64, error) {
	bytes, err := s.ResidentMemory()
	return float64(bytes) / 1e6, err
}
