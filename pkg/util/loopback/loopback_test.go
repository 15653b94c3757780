package loopback_test

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "kube2014/pkg/util/loopback"
	. "kube2014/pkg/util/loopback/loopbacktest"
)

// greet lets a listener say a word to each who comes.
func greet(l net.Listener, word string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, word) // who has gone hears nothing
		_ = conn.Close()
	}
}

func heard(t *testing.T, conn net.Conn, err error) string {
	require.NoError(t, err)
	word, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(word)
}

func TestWhoDialsReachesTheListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := Listen()
		go greet(l, "hello")
		conn, err := l.Dial(t.Context())
		assert.Equal(t, "hello", heard(t, conn, err))
		conn, err = l.DialContext(t.Context(), "tcp", "anywhere:1")
		assert.Equal(t, "hello", heard(t, conn, err))
		require.NoError(t, l.Close())
		_, err = l.Dial(t.Context())
		assert.ErrorIs(t, err, net.ErrClosed)
		_, err = l.Accept()
		assert.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestADialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Listen().Dial(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestANetworkHasAListenerAtEachAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n Network
		a, err := n.Listen("tcp", "a:80")
		require.NoError(t, err)
		b, err := n.Listen("tcp", "b:0")
		require.NoError(t, err)
		other, err := n.Listen("tcp", "b:0")
		require.NoError(t, err)
		assert.NotEqual(t, b.Addr().String(), other.Addr().String())
		go greet(a, "a")
		go greet(b, "b")
		conn, err := n.DialContext(t.Context(), "tcp", "a:80")
		assert.Equal(t, "a", heard(t, conn, err))
		conn, err = n.DialContext(t.Context(), "tcp", b.Addr().String())
		assert.Equal(t, "b", heard(t, conn, err))

		_, err = n.Listen("tcp", "a:80")
		assert.ErrorIs(t, err, syscall.EADDRINUSE)
		_, err = n.Listen("tcp", "a")
		assert.Error(t, err)
		_, err = n.DialContext(t.Context(), "tcp", "a:81")
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		require.NoError(t, a.Close())
		_, err = n.DialContext(t.Context(), "tcp", "a:80")
		assert.ErrorIs(t, err, syscall.ECONNREFUSED)
		a, err = n.Listen("tcp", "a:80")
		require.NoError(t, err, "it is free again")
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	})
}
