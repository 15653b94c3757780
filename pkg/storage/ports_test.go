package storage

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

func TestAHostPortInFlightHasOneOwnerUntilItIsReleased(t *testing.T) {
	t.Parallel()
	ports := NewPortsInFlight()
	first, second := makeTask("a", nil, 80, 81), makeTask("b", nil, 82, 81)
	require.NoError(t, ports.Take(first))
	assert.Equal(t, 2, ports.Len())
	err := ports.Take(second)
	assert.Equal(t, api.NewHostPortTaken("b", 81, "m1", "a"), err)
	assert.Equal(t, 2, ports.Len(), "who is refused takes nothing")
	ports.Release(second)
	assert.Equal(t, 2, ports.Len(), "and gives nothing back")

	assert.True(t, ports.IsTaken("m1", []int{90, 81}, "b"))
	assert.False(t, ports.IsTaken("m1", []int{90, 82}, "b"))
	assert.False(t, ports.IsTaken("m2", []int{80, 81}, "b"), "each machine has its own")
	assert.False(t, ports.IsTaken("m1", []int{80, 81}, "a"), "its own are no hindrance")

	ports.Release(first)
	assert.Zero(t, ports.Len())
	require.NoError(t, ports.Take(second))
}

// Two requests may be about the same task: the later one keeps what it has taken.
func TestTheRequestsOfATaskDoNotHinderEachOther(t *testing.T) {
	t.Parallel()
	ports := NewPortsInFlight()
	first, second := makeTask("a", nil, 80, 81), makeTask("a", nil, 81)
	require.NoError(t, ports.Take(first))
	require.NoError(t, ports.Take(second))
	ports.Release(first)
	assert.Equal(t, 1, ports.Len())
	assert.True(t, ports.IsTaken("m1", []int{81}, "b"))
	ports.Release(second)
	assert.Zero(t, ports.Len())
}

func TestATaskWithoutAMachineTakesNoHostPorts(t *testing.T) {
	t.Parallel()
	ports := NewPortsInFlight()
	unplaced := makeTask("a", nil, 80)
	unplaced.CurrentState.Host = ""
	require.NoError(t, ports.Take(unplaced))
	assert.Zero(t, ports.Len())
	ports.Release(unplaced)
}
