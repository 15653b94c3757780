package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

const (
	idleTimeout   = 4 * time.Hour    // of a session in which nothing is sent
	createTimeout = 30 * time.Second // for a client to open its streams
	endTimeout    = time.Second      // for a session that must end to tell its client
)

// sessions are the requests whose connections have become streams. They are safe for concurrent use.
type sessions struct {
	ctx context.Context // they end with it
	end context.CancelFunc

	mu      sync.Mutex     // guards what follows
	running sync.WaitGroup // none begins after the end of the context
}

// begin begins a session, and reports whether it may be.
func (s *sessions) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}

// close ends the sessions, and waits for them.
func (s *sessions) close() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock() // from now on none begins
	s.running.Wait()
}

// session returns a handler of requests whose connections become streams. The context of its request ends with the
// connection, which ends with the handler.
func (s *sessions) session(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if !isSameSite(req) {
			http.Error(w, "a page of another site may not connect", http.StatusForbidden)
			return
		}
		if !s.begin() {
			http.Error(w, "the kubelet ends", http.StatusServiceUnavailable)
			return
		}
		defer s.running.Done()
		ctx, cancel := context.WithCancel(klog.NewContext(s.ctx, klog.Logger{})) // it logs nothing: a client that has gone is no news
		defer cancel()
		h := &hijacked{ResponseWriter: w, ctx: ctx, cancel: cancel}
		defer h.close()
		serve(h, req.WithContext(ctx))
	}
}

// isSameSite reports whether a request does not come from a page of another site: a browser would let any page
// connect to this machine.
func isSameSite(req *http.Request) bool {
	origin := req.Header.Get("Origin")
	from, err := url.Parse(origin)
	return origin == "" || err == nil && from.Host == req.Host
}

// hijacked lets a connection that is taken over end soon after a context, and the context with it.
type hijacked struct {
	http.ResponseWriter
	ctx    context.Context
	cancel context.CancelFunc
	conn   net.Conn // nil if it was not taken over
}

func (h *hijacked) close() {
	if h.conn != nil {
		_ = h.conn.Close() // it may be closed already
	}
}

// Hijack implements http.Hijacker.
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{}) // a connection without deadlines needs none
	h.conn = conn
	context.AfterFunc(h.ctx, func() { time.AfterFunc(endTimeout, func() { _ = conn.Close() }) }) // for a client that does not read
	both := &tied{conn, buffered.Reader, h.cancel}
	return both, bufio.NewReadWriter(bufio.NewReader(both), bufio.NewWriter(both)), nil
}

// tied is a connection that ends a context when the client has closed it, or the server.
type tied struct {
	net.Conn
	from   io.Reader // the connection, with what was read of it already
	cancel context.CancelFunc
}

// Read implements net.Conn.
func (t *tied) Read(to []byte) (int, error) {
	n, err := t.from.Read(to)
	if err != nil {
		t.cancel()
	}
	return n, err
}

// Close implements net.Conn.
func (t *tied) Close() error {
	defer t.cancel()
	return t.Conn.Close()
}
