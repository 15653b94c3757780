package proxy

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// half is a connection in a bubble of which each direction has its own end.
type half struct {
	net.Conn          // what is read
	to       net.Conn // where is written
}

func (h half) Write(data []byte) (int, error) { return h.to.Write(data) }
func (h half) CloseWrite() error              { return h.to.Close() }
func (h half) Close() error {
	_ = h.to.Close()
	return h.Conn.Close()
}

func connected() (one, other half) {
	a, b := net.Pipe()
	c, d := net.Pipe()
	return half{a, c}, half{d, b}
}

// relayed runs a relay between a client and a server in a bubble.
func relayed(t *testing.T, test func(client, server half, ended <-chan struct{})) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, toClient := connected()
		toServer, server := connected()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			relay(t.Context(), toClient, toServer)
		}()
		test(client, server, ended)
	})
}

func TestAServerThatNeverEndsHoldsNoConnectionWhoseClientHasGone(t *testing.T) {
	relayed(t, func(client, _ half, ended <-chan struct{}) {
		synctest.Wait()
		begin := time.Now()
		require.NoError(t, client.CloseWrite())
		<-ended
		assert.Equal(t, maxSilence, time.Since(begin))
	})
}

func TestAnAnswerMayTakeAsLongAsSomethingComes(t *testing.T) {
	relayed(t, func(client, server half, ended <-chan struct{}) {
		require.NoError(t, client.CloseWrite())
		go func() {
			for range 100 {
				time.Sleep(maxSilence - time.Second)
				_, err := server.Write([]byte("."))
				assert.NoError(t, err)
			}
			assert.NoError(t, server.CloseWrite())
		}()
		answer, err := io.ReadAll(client)
		require.NoError(t, err)
		assert.Len(t, answer, 100)
		<-ended
	})
}

func TestAConnectionOnWhichNobodyHasEndedMayBeSilentForEver(t *testing.T) {
	relayed(t, func(client, server half, ended <-chan struct{}) {
		time.Sleep(100 * maxSilence)
		go func() {
			_, err := client.Write([]byte("still here"))
			assert.NoError(t, err)
		}()
		heard := make([]byte, 10)
		_, err := io.ReadFull(server, heard)
		require.NoError(t, err)
		assert.Equal(t, "still here", string(heard))
		require.NoError(t, client.Close())
		require.NoError(t, server.Close())
		<-ended
	})
}
