package filters

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"kube2014/pkg/api"
)

// InFlight counts the requests that the end of a server waits for. It is safe for concurrent
// use.
type InFlight struct {
	count atomic.Int64 // and ending, when no more are to begin
	once  sync.Once
	idle  chan struct{} // closed when the server is ending and the last request has ended
}

const ending = 1 << 62

// NewInFlight returns one that counts nothing yet.
func NewInFlight() *InFlight { return &InFlight{idle: make(chan struct{})} }

// begin counts a request in, unless the server is ending. What it counts, end counts out.
func (f *InFlight) begin() bool { return f.count.Add(1) < ending }

func (f *InFlight) end() {
	if f.count.Add(-1) == ending {
		f.once.Do(func() { close(f.idle) }) // a request that is refused comes here too
	}
}

// Wait refuses requests from now on, and returns when those in flight have ended, or the
// context has. It is called once.
func (f *InFlight) Wait(ctx context.Context) error {
	f.count.Add(ending + 1) // itself is one, so that end is called also if there are no others
	f.end()
	select {
	case <-f.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WithWaitGroup counts requests while they are in flight, and refuses new ones once the server
// is ending: a client that keeps its connection may send one until then. Watches
// are waited for too: they end first.
func WithWaitGroup(next http.Handler, inFlight *InFlight) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		begun := inFlight.begin()
		defer inFlight.end()
		if !begun {
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			fail(w, req, &api.Error{Kind: api.Unavailable, Message: "the server is shutting down"})
			return
		}
		next.ServeHTTP(w, req)
	})
}
