package server

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// silent are the connections of a port on which nothing has been sent yet. http.Server.Shutdown would wait
// for them for five seconds.
type silent struct {
	count atomic.Int64 // of them, so that a request costs no lock if there are none

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]bool
	ended bool
}

// note is a ConnState of an http.Server.
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
		_ = conn.Close() // it only closes a connection
	default:
		s.conns[conn] = true
	}
	s.count.Store(int64(len(s.conns)))
}

// close closes them, and those to come.
func (s *silent) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for conn := range s.conns {
		_ = conn.Close() // as above
	}
}
