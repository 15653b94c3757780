package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheTableTellsTheMedianAndWhetherTheTargetIsMet(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "| GET | ≥ 2 times | 3 | 1 – 4 | 3/s | met |\n| POST | ≤ 2 ms | 3 | 1 – 4 |  | not met |\n", table([]row{
		{what: "GET", unit: "times", values: []float64{1, 3, 4}, bound: 2, atLeast: true, detail: "3/s"},
		{what: "POST", unit: "ms", values: []float64{1, 3, 4}, bound: 2},
	}))
}
