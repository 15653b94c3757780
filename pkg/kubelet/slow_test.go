package kubelet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"kube2014/pkg/kubelet/cri"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/kubelet/hollow"
)

// slowRuntime takes a while to kill what it is to stop.
type slowRuntime struct{ *hollow.Runtime }

type slowContainer struct{ cri.Container }

const slow = 20 * time.Second

// Start implements cri.Runtime.
func (r slowRuntime) Start(spec cri.Spec) cri.Container {
	return slowContainer{r.Runtime.Start(spec)}
}

// Stop implements cri.Container.
func (c slowContainer) Stop(time.Duration) { time.AfterFunc(slow, func() { c.Container.Stop(0) }) }

func TestAPodOfTheSameNameWaitsForTheOneBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.config.Runtime = slowRuntime{&hollow.Runtime{Listen: c.network.Listen, StartAfter: startAfter}}
		c.start()
		first := c.create(makePod("web-1", withPort))
		pass(time.Second)
		c.delete("web-1", 0)
		second := c.create(makePod("web-1", withPort))
		require.NotEqual(t, first.UID, second.UID)
		pass(slow / 2)
		assert.Empty(t, c.get("web-1").Status.ContainerStatuses)
		assert.Equal(t, "web-1 on 127.0.0.2 (web)\n", c.ask("127.1.2.1:80"), "the first one has not ended")
		assert.Len(t, c.events.of("Created"), 1)
		pass(slow)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Equal(t, "127.1.2.1", c.get("web-1").Status.PodIP)

		c.delete("web-1", 0) // the third one comes and goes while the second one ends
		c.create(makePod("web-1"))
		pass(slow / 2)
		c.delete("web-1", 0)
		c.create(makePod("web-1"))
		pass(2 * slow)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		assert.Len(t, c.events.of("Created"), 3)
		pass(slow)
	})
}
