package stream

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

// IsWebSocket reports whether a client wants a web socket: pages do, because a browser opens only six
// other connections to a server.
func IsWebSocket(req *http.Request) bool {
	return httpstream.IsUpgradeRequest(req) && strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
}

// frames are events as messages of a web socket.
type frames struct {
	conn    *websocket.Conn
	timeout Timeout
}

// Frames makes the connection of a request a web socket. When the client closes it, gone is called. A
// request that is not as it should be, or comes from a page of another site, is answered here; then ok
// is false.
func Frames(w http.ResponseWriter, req *http.Request, timeout Timeout, gone context.CancelFunc) (s Stream, ok bool) {
	conn, err := websocket.Accept(w, req, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}})
	if err != nil {
		return nil, false
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
	return &frames{conn, timeout}, true
}

// Write implements Stream.
func (f *frames) Write(parts ...[]byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout())
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

// Flush implements Stream.
func (f *frames) Flush() error { return nil }

// End implements Stream: it sends the client that there is no more. Nobody waits until the client has read
// it, which takes some seconds if it has gone.
func (f *frames) End() {
	go func() { _ = f.conn.Close(websocket.StatusNormalClosure, "") }() // the error is that it has gone
}

// Limit implements Stream.
func (f *frames) Limit() {
	time.AfterFunc(f.timeout(), func() { _ = f.conn.CloseNow() }) // it may be closed already
}
