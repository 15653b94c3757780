package server

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// silent has the connections of a port without a request so far. http.Server.Shutdown would wait five seconds
// for them.
type silent struct {
	count atomic.Int64 // len(conns), so that requests need no lock if there are none

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]bool
	ended bool
}

// note is the ConnState of an http.Server.
func (s *silent) note(conn net.Conn, state http.ConnState) {
	if state != http.StateNew && s.count.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(s.conns, conn)
	case s.ended:
		_ = conn.Close() // the error does not matter
	default:
		s.conns[conn] = true
	}
	s.count.Store(int64(len(s.conns)))
}

// close closes them, and later ones.
func (s *silent) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for conn := range s.conns {
		_ = conn.Close() // as above
	}
}
