// Package stream sends the events of a watch to its client: as lines of an answer, or as messages of a web
// socket.
package stream

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
	"k8s.io/apimachinery/pkg/util/httpstream"
)

// Stream sends events to one client. A write fails if the client stops reading. A stream is for one
// goroutine at a time, but Limit may be called concurrently.
type Stream interface {
	// Write sends one event, given in parts.
	Write(parts ...[]byte) error
	// Flush sends buffered events.
	Flush() error
	// End ends the stream.
	End()
	// Limit bounds the time of a pending write, because the server ends.
	Limit()
}

// Timeout returns how long a write may wait for the client. It is shorter while the server ends.
type Timeout func() time.Duration

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

// lines implements Stream by the body of an answer, with one event per line, or after its length in protobuf.
type lines struct {
	w           http.ResponseWriter
	req         *http.Request
	control     *http.ResponseController
	timeout     Timeout
	deadlineSet time.Time
	inProtobuf  bool
}

// Lines returns a stream of lines, or in protobuf one of events after their lengths, four bytes each. It begins the answer to the
// request.
func Lines(w http.ResponseWriter, req *http.Request, timeout Timeout, inProtobuf bool) Stream {
	l := &lines{w: w, req: req, control: http.NewResponseController(w), timeout: timeout, inProtobuf: inProtobuf}
	contentType := "application/json"
	if inProtobuf {
		contentType = "application/vnd.kubernetes.protobuf;stream=watch"
	}
	_ = l.control.SetReadDeadline(time.Time{}) // the deadline was for the request; a connection without one needs none
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	_ = l.Flush() // the next write fails if the client has gone
	return l
}

func (l *lines) Write(parts ...[]byte) error {
	l.setDeadline()
	if l.inProtobuf {
		size := 0
		for _, part := range parts {
			size += len(part)
		}
		if _, err := l.w.Write(binary.BigEndian.AppendUint32(nil, uint32(size))); err != nil {
			return err
		}
	}
	for _, part := range parts {
		if _, err := l.w.Write(part); err != nil {
			return err
		}
	}
	if l.inProtobuf {
		return nil
	}
	_, err := l.w.Write(newline)
	return err
}

var newline = []byte("\n")

func (l *lines) Flush() error {
	l.setDeadline()
	err := l.control.Flush()
	if Rest(l.control, l.req) {
		l.deadlineSet = time.Time{}
	}
	return err
}

// Rest removes the deadline of the writes of an answer while nothing is written, and reports whether there is none then.
// In HTTP/2 a deadline is a timer that ends the answer. In HTTP/1 only writes look at it, so it may stay.
func Rest(control *http.ResponseController, req *http.Request) bool {
	return req.ProtoMajor > 1 && control.SetWriteDeadline(time.Time{}) == nil
}

// End leaves the end of the answer to net/http.
func (l *lines) End() { l.Limit() }

// setDeadline extends the deadline of writes. That costs half as much as all other work for an event, so
// it is not done for each event.
func (l *lines) setDeadline() {
	if now := time.Now(); now.Sub(l.deadlineSet) > l.timeout()/20 {
		l.deadlineSet = now
		l.Limit()
	}
}

func (l *lines) Limit() {
	_ = l.control.SetWriteDeadline(time.Now().Add(l.timeout())) // a connection without deadlines needs none
}
