package endpoints

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"k8s.io/apimachinery/pkg/util/httpstream"
)

// subprotocol is what a client names beside the one that holds its token. It says how today's server
// writes bytes; events are text.
const subprotocol = "base64.binary.k8s.io"

// isWebSocket reports whether a client wants a web socket: pages do, because a browser opens only six
// other connections to a server.
func isWebSocket(req *http.Request) bool {
	return httpstream.IsUpgradeRequest(req) && strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
}

// frames are the events of a watch as messages of a web socket.
type frames struct {
	conn    *websocket.Conn
	timeout time.Duration // to write an event
}

// acceptWebSocket makes the connection of a request a web socket. When the client closes it, gone is
// called. A request that is not as it should be, or comes from a page of another site, is
// answered here; then the result is nil.
func (r *call) acceptWebSocket(gone context.CancelFunc) events {
	conn, err := websocket.Accept(r.w, r.Request, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}})
	if err != nil {
		return nil
	}
	go func() {
		defer gone()
		for { // what the client says is ignored, as by today's server
			if _, message, err := conn.Reader(context.Background()); err != nil {
				return
			} else if _, err := io.Copy(io.Discard, message); err != nil {
				return
			}
		}
	}()
	return &frames{conn, r.server.WriteTimeout}
}

func (f *frames) begin() error { return nil }

func (f *frames) write(parts ...[]byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
	defer cancel()
	message, err := f.conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err := message.Write(part); err != nil {
			return err
		}
	}
	return message.Close()
}

func (f *frames) flush() error { return nil }

// end tells the client that there is no more. The error is that it has gone.
func (f *frames) end() { _ = f.conn.Close(websocket.StatusNormalClosure, "") }

// limit does nothing: the server does not wait for web sockets.
func (f *frames) limit() {}
