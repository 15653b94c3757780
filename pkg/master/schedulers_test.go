package master

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/registry"
)

func TestEachSchedulerIsTheOneItsNameSays(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]registry.Scheduler{
		"first_fit": &registry.FirstFitScheduler{}, "random": &registry.RandomScheduler{}, "round_robin": &registry.RoundRobinScheduler{},
		"none": &registry.FirstFitScheduler{},
	} {
		assert.IsType(t, want, schedulers[name]([]string{"m"}, registry.MakeMemoryRegistry()), name)
	}
	assert.Len(t, schedulers, 4)
}
