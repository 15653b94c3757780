package server

import (
	"context"
	"net/http"
	"strings"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// opened is a stream that a client has opened.
type opened struct {
	httpstream.Stream
	replied <-chan struct{} // closed when the client has been told
}

// wait waits until the client has been told, or a context ends. Before that, the client takes a reset for a refusal.
func (s opened) wait(ctx context.Context) {
	select {
	case <-s.replied:
	case <-ctx.Done():
	}
}

// upgrade makes the connection of a session one of SPDY, and returns it with the streams that its client opens. It
// returns nil if it has answered with an error.
func upgrade(w http.ResponseWriter, req *http.Request, protocols []string) (httpstream.Connection, <-chan opened) {
	if !httpstream.IsUpgradeRequest(req) || !strings.EqualFold(req.Header.Get(httpstream.HeaderUpgrade), spdy.HeaderSpdy31) {
		http.Error(w, "Upgrade request required", http.StatusBadRequest)
		return nil, nil
	}
	if _, err := httpstream.Handshake(req, w, protocols); err != nil {
		return nil, nil // it has answered
	}
	streams := make(chan opened)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, req, sendTo(req.Context(), streams))
	if conn == nil {
		return nil, nil
	}
	conn.SetIdleTimeout(idleTimeout)
	return conn, streams
}

// sendTo returns a handler that sends new streams until a context ends.
func sendTo(ctx context.Context, streams chan<- opened) httpstream.NewStreamHandler {
	return func(s httpstream.Stream, replied <-chan struct{}) error {
		select {
		case streams <- opened{s, replied}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refuse resets further streams until a context ends.
func refuse(ctx context.Context, streams <-chan opened) {
	for {
		select {
		case s := <-streams:
			_ = s.Reset() // the client has gone
		case <-ctx.Done():
			return
		}
	}
}
