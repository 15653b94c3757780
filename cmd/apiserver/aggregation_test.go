package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kube2014/compare/aggregation"
)

func TestTheAggregatorAnswersAsTodays(t *testing.T) {
	t.Parallel()
	chapters, err := aggregation.Load("../../testdata/today/aggregation.json")
	require.NoError(t, err)
	for _, chapter := range chapters {
		t.Run(chapter.Name, func(t *testing.T) {
			t.Parallel()
			w := aggregation.NewWorld(t)
			flags, _ := filesOf(t).secureFlags()
			_, log, _, url := secureProgram(t, unhurried, slices.Concat(flags, w.OurFlags(), []string{"-scheduler", "none"})...)
			go log.end() // nobody reads it, and a full pipe would stop the server
			noneDiffers(t, w.Replay(url, chapter), nil)
		})
	}
}
