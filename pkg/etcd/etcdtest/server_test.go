package etcdtest

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	assert.False(t, isFree(listener.Addr().(*net.TCPAddr).Port))
}

// Between the look at a port and its use another process may take it: the members
// get other ports then, and nobody asks that other process.
func TestAMemberWhosePortIsTakenMeanwhileSaysSo(t *testing.T) {
	t.Parallel()
	other, err := Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, other.Kill()) })
	var taken int
	_, err = fmt.Sscanf(other.URL, "http://127.0.0.1:%d", &taken)
	require.NoError(t, err)
	for name, i := range map[string]int{"for clients": 0, "for members": 1} {
		ports, err := freePorts(2)
		require.NoError(t, err)
		ports[i] = taken
		_, err = Setup{}.startOn(ports, t.TempDir())
		assert.ErrorIs(t, err, errPortTaken, name)
	}
}

func TestAMemberThatIsPausedAnswersWhenItIsResumed(t *testing.T) {
	t.Parallel()
	server, err := Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Kill()) })
	require.NoError(t, server.Pause())
	_, _, err = send(&http.Client{Timeout: 200 * time.Millisecond}, http.MethodGet, server.URL+"/version", "")
	assert.Error(t, err)
	require.NoError(t, server.Resume())
	assert.NoError(t, server.Ready())
}

func TestNobodyListensAtARefusingAddress(t *testing.T) {
	t.Parallel()
	address, free, err := Refusing()
	require.NoError(t, err)
	defer func() { assert.NoError(t, free()) }()
	_, err = net.Dial("tcp", address)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = net.Listen("tcp", address)
	assert.ErrorIs(t, err, syscall.EADDRINUSE)
}
