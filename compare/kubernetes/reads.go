package main

import (
	"time"

	"kube2014/bench/measure"
)

const (
	large    = 10000 // pods
	few      = 500   // pods that one turn of writes creates
	getsLast = 800 * time.Millisecond
)

// measureWrites measures servers without pods.
func measureWrites(c *comparison, sides []*side) error {
	again := func(what string, goal float64, write func(i int) []byte) measurement {
		return measurement{what, perSecond, goals{inMemory: goal}, func(s *side, _ int) (float64, error) { return s.createAndWrite(few, write) }}
	}
	return c.byTurns(sides, posts("POST of pods", goals{inMemory: 3, onEtcd2: 0.7, onEtcd3: 1.2}),
		again("PUT of pods", 3, replaceExtra), again("apply of pods, by a second manager", 2, applyExtra))
}

func posts(what string, goals goals) measurement {
	return measurement{what, perSecond, goals, func(s *side, _ int) (float64, error) { return s.createAndDelete(few) }}
}

// measureListSizes measures lists of a growing number of pods.
func measureListSizes(c *comparison, sides []*side) error {
	c.plot = measure.Plot{Title: "List of all pods as JSON: time by the number of pods", X: "pods", Y: "ms"}
	sizes, loaded := []int{100, 300, 1000, 3000, large}, 0
	for _, size := range sizes {
		for _, s := range sides {
			if err := s.create(loaded, size); err != nil {
				return err
			}
		}
		loaded = size
		if size == large {
			if err := c.byTurns(sides, memory("memory, 10,000 pods")); err != nil {
				return err
			}
		}
		times := map[*side][]float64{}
		for run := range runs {
			for _, s := range sides[:2] {
				took, err := s.listTime(run, podsPath)
				if err != nil {
					return err
				}
				times[s] = append(times[s], took)
			}
		}
		c.plot.Add("ours, "+sides[1].name, float64(size), measure.Median(times[sides[1]]))
		c.plot.Add(sides[0].name, float64(size), measure.Median(times[sides[0]]))
	}
	return nil
}

// listTime returns the time of a list in milliseconds, after a write.
func (s *side) listTime(run int, path string, headers ...string) (float64, error) {
	conn, err := s.Dial()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	var took []float64
	for i := range 3 {
		steps := []measure.Step{conn.Step(change(10*run+i), nil), conn.Step(request("GET", path, nil, headers...), &took)}
		if err := measure.InTurn(1, steps...); err != nil {
			return 0, err
		}
	}
	return measure.Median(took), nil
}

// memory is that of servers with 10,000 pods.
func memory(what string) measurement {
	return measurement{what, " MB", goals{inMemory: 6}, func(s *side, _ int) (float64, error) { return s.memory() }}
}

// measureReads measures servers with 10,000 pods.
func measureReads(c *comparison, sides []*side) error {
	lists := func(what string, goal float64, path string, headers ...string) measurement {
		return measurement{what, " ms", goals{inMemory: goal}, func(s *side, run int) (float64, error) { return s.listTime(run, path, headers...) }}
	}
	if err := c.byTurns(sides, measurement{"GET of a pod", perSecond, goals{inMemory: 8}, func(s *side, _ int) (float64, error) {
		return s.Throughput(connections, request("GET", podsPath+"/"+podName(7), nil), getsLast)
	}}); err != nil {
		return err
	}
	if err := c.byTurns(sides, lists("list of 10,000 pods as JSON", 6, podsPath)); err != nil {
		return err
	}
	if err := c.byTurns(sides, lists("list of 10,000 pods in protobuf", 4, podsPath, asProtobuf)); err != nil {
		return err
	}
	if err := c.byTurns(sides, lists("list of 10,000 pods as Table", 4, podsPath, asTable)); err != nil {
		return err
	}
	if err := c.byTurns(sides, lists("label query for 1 %", 20, podsPath+"?labelSelector=group%3Dg42")); err != nil {
		return err
	}
	if err := c.byTurns(sides, memory("memory after the lists")); err != nil {
		return err
	}
	return c.byTurns(sides, posts("POST of pods beside 10,000", nil))
}
