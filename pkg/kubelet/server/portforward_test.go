package server_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// echo sends back what it has got when that has ended.
func echo(conn net.Conn) {
	defer conn.Close()
	text, err := io.ReadAll(conn)
	if err == nil {
		_, _ = conn.Write(append([]byte("got "), text...)) // the client has gone
	}
}

func TestAPortIsForwardedUntilBothSidesHaveEnded(t *testing.T) {
	t.Parallel()
	for name := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, serve(t, &fakePod{address: listen(t, echo)}), name)
			var clients sync.WaitGroup
			for i := range 20 {
				clients.Go(func() {
					data, errs := open(t, conn, fmt.Sprint(i), "80")
					_, err := fmt.Fprintf(data, "hello %d", i)
					assert.NoError(t, err)
					assert.NoError(t, data.Close())
					text, err := io.ReadAll(data)
					assert.NoError(t, err)
					assert.Equal(t, fmt.Sprintf("got hello %d", i), string(text))
					told, err := io.ReadAll(errs)
					assert.NoError(t, err)
					assert.Empty(t, told)
				})
			}
			clients.Wait()
		})
	}
}

func TestAPortAtWhichNobodyListensIsTold(t *testing.T) {
	t.Parallel()
	for name := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, serve(t, &fakePod{refused: errors.New("connection refused")}), name)
			data, errs := open(t, conn, "1", "80")
			told, err := io.ReadAll(errs)
			require.NoError(t, err)
			assert.Equal(t, "error forwarding port 80 to pod web, uid u1: failed to connect to port 80 inside the pod: connection refused", string(told))
			_, err = io.ReadAll(data)
			assert.NoError(t, err, "it has ended")
			_, errs = open(t, conn, "2", "0")
			told, err = io.ReadAll(errs)
			require.NoError(t, err)
			assert.Equal(t, `error forwarding port 0 to pod web, uid u1: "0" is not a port`, string(told))
		})
	}
}

func TestAForwardedConnectionEndsWithTheServerAndWithItsClient(t *testing.T) {
	t.Parallel()
	for name := range protocols {
		for who, end := range map[string]func(served, io.Closer){
			"server": func(s served, _ io.Closer) { s.Close() },
			"client": func(_ served, conn io.Closer) { _ = conn.Close() },
		} {
			t.Run(name+", "+who, func(t *testing.T) {
				t.Parallel()
				begun, ended := make(chan struct{}), make(chan struct{})
				s := serve(t, &fakePod{address: listen(t, func(conn net.Conn) {
					close(begun)
					_, _ = io.Copy(io.Discard, conn) // until it ends
					close(ended)
				})})
				conn := dial(t, s, name)
				open(t, conn, "1", "80")
				<-begun
				end(s, conn)
				<-ended
			})
		}
	}
}

func TestAWebSocketWithoutATunnelForwardsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, &fakePod{})
	conn, _, err := websocket.Dial(t.Context(), s.url("ws", "/portForward/default/web", map[string][]string{"port": {"80"}}).String(), &websocket.DialOptions{Subprotocols: []string{"v4.channel.k8s.io"}})
	require.NoError(t, err)
	defer conn.CloseNow()
	_, _, err = conn.Read(t.Context())
	assert.Equal(t, websocket.StatusProtocolError, websocket.CloseStatus(err))
}
