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

// subprotocol is the one that clients offer beside that with their token. In today's server it is the
// encoding of bytes; events are text.
const subprotocol = "base64.binary.k8s.io"

// IsWebSocket reports whether a client requests a web socket. Pages do, because a browser opens only six
// other connections to a server.
func IsWebSocket(req *http.Request) bool {
	return httpstream.IsUpgradeRequest(req) && strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
}

// frames implements Stream by messages of a web socket.
type frames struct {
	conn    *websocket.Conn
	timeout Timeout
	kind    websocket.MessageType
}

// Frames upgrades the connection of a request to a web socket, whose messages are binary in protobuf. It calls gone when the client closes it. If
// the request is malformed, or comes from a page of another site, Frames answers it with an error, and ok is
// false.
func Frames(w http.ResponseWriter, req *http.Request, timeout Timeout, inProtobuf bool, gone context.CancelFunc) (s Stream, ok bool) {
	conn, err := websocket.Accept(w, req, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}})
	if err != nil {
		return nil, false
	}
	go func() {
		defer gone()
		for { // messages of the client are ignored, as by today's server
			if _, message, err := conn.Reader(context.Background()); err != nil {
				return
			} else if _, err := io.Copy(io.Discard, message); err != nil {
				return
			}
		}
	}()
	kind := websocket.MessageText
	if inProtobuf {
		kind = websocket.MessageBinary
	}
	return &frames{conn, timeout, kind}, true
}

func (f *frames) Write(parts ...[]byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), f.timeout())
	defer cancel()
	message, err := f.conn.Writer(ctx, f.kind)
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

func (f *frames) Flush() error { return nil }

// End closes the web socket. It does not wait for the client's answer, which takes
// some seconds if the client has gone.
func (f *frames) End() {
	go func() { _ = f.conn.Close(websocket.StatusNormalClosure, "") }() // it fails only if the client has gone
}

func (f *frames) Limit() {
	time.AfterFunc(f.timeout(), func() { _ = f.conn.CloseNow() }) // it may be closed already
}
