package etcdtest

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No other socket or member gets the port of a member that is down.
func TestThePortsOfMembersAreBelowThoseOfOtherSocketsAndGivenOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards given
	given := map[int]bool{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			ports, err := freePorts(10)
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			for _, port := range ports {
				assert.True(t, 15000 <= port && port < 32000, port)
				assert.False(t, given[port], port)
				given[port] = true
			}
		})
	}
	group.Wait()
	assert.Len(t, given, 80)
}

func TestAPortThatIsTakenIsNotFree(t *testing.T) {
	t.Parallel()
	ports, err := freePorts(1)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0]))
	require.NoError(t, err)
	assert.False(t, isFree(ports[0]))
	listener.Close()
	assert.True(t, isFree(ports[0]))
}
