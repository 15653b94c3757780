package cacher

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

func TestAHostPortInFlightHasOneOwnerUntilItIsReleased(t *testing.T) {
	t.Parallel()
	ports := NewClaimsInFlight()
	first, second := makeTask("a", nil, 80, 81), makeTask("b", nil, 82, 81)
	require.NoError(t, ports.Take(first))
	assert.Equal(t, 2, ports.Len())
	err := ports.Take(second)
	assert.Equal(t, api.NewHostPortTaken("b", 81, "m1", "a"), err)
	assert.Equal(t, 2, ports.Len(), "who is refused takes nothing")
	ports.Release(second)
	assert.Equal(t, 2, ports.Len(), "and gives nothing back")

	elsewhere := makeTask("b", nil, 80, 81)
	elsewhere.CurrentState.Host = "m2"
	assert.Error(t, ports.Check(makeTask("b", nil, 90, 81)))
	assert.NoError(t, ports.Check(makeTask("b", nil, 90, 82)))
	assert.NoError(t, ports.Check(elsewhere), "each machine has its own")
	assert.NoError(t, ports.Check(makeTask("a", nil, 80, 81)), "its own are no hindrance")

	ports.Release(first)
	assert.Zero(t, ports.Len())
	require.NoError(t, ports.Take(second))
}

// Two requests may be about the same task: the later one keeps what it has taken.
func TestTheRequestsOfATaskDoNotHinderEachOther(t *testing.T) {
	t.Parallel()
	ports := NewClaimsInFlight()
	first, second := makeTask("a", nil, 80, 81), makeTask("a", nil, 81)
	require.NoError(t, ports.Take(first))
	require.NoError(t, ports.Take(second))
	ports.Release(first)
	assert.Equal(t, 1, ports.Len())
	assert.Error(t, ports.Check(makeTask("b", nil, 81)))
	ports.Release(second)
	assert.Zero(t, ports.Len())
}

func TestATaskWithoutAMachineTakesNoHostPorts(t *testing.T) {
	t.Parallel()
	ports := NewClaimsInFlight()
	unplaced := makeTask("a", nil, 80)
	unplaced.CurrentState.Host = ""
	require.NoError(t, ports.Take(unplaced))
	assert.Zero(t, ports.Len())
	ports.Release(unplaced)
}

// A read lock that is taken twice waits for who wants to write in between, who waits for the first.
func TestTheCacheIsNotLockedWhileCandidatesAreMade(t *testing.T) {
	t.Parallel()
	cache := New(0)
	put(t, cache, makeTask("a", nil, 80))
	free, err := cache.FirstFree(func(send func(api.Object) bool) {
		cache.Expect(7) // waits until nobody has the lock
		if send(makeTask("b", nil, 80)) {
			cache.Expect(8)
			send(makeTask("b", nil, 81))
		}
	})
	require.NoError(t, err)
	assert.Equal(t, []int{81}, free.(*api.Task).HostPorts())
}
