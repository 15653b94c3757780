package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"kube2014/pkg/util"
)

// ListenError is the error for a port that cannot be opened.
type ListenError struct {
	Address string
	Err     error
}

// Error returns the address and the cause.
func (e *ListenError) Error() string {
	return fmt.Sprintf("cannot listen on %s: %v", e.Address, e.Err)
}

// Unwrap returns the cause.
func (e *ListenError) Unwrap() error { return e.Err }

// idleTimeout is how long a connection waits for its next request. Go's client closes one that is idle for 90 seconds: if the server was first, a
// POST that is just being sent would be lost.
const idleTimeout = 2 * time.Minute

// port is an open port and its server.
type port struct {
	listener net.Listener
	server   *http.Server
	silent   *silent
	idle     *idleListener // of a port with TLS, else nil
}

func (p *port) address() net.Addr {
	if p == nil {
		return nil
	}
	return p.listener.Addr()
}

func (p *port) serve() error {
	if p.idle != nil {
		return p.server.ServeTLS(p.listener, "", "")
	}
	return p.server.Serve(p.listener)
}

// open opens a port, and adds it to the others. A nil Serving stays closed.
func (s *Server) open(serving *Serving, handler http.Handler, ports *[]*port) (*port, error) {
	if serving == nil {
		return nil, nil
	}
	listener, err := s.config.Listen("tcp", serving.Address)
	if err != nil {
		return nil, &ListenError{serving.Address, util.SystemError(err)}
	}
	opened := s.newPort(listener, handler, serving)
	*ports = append(*ports, opened)
	return opened, nil
}

func (s *Server) newPort(listener net.Listener, handler http.Handler, serving *Serving) *port {
	quiet := &silent{conns: map[net.Conn]bool{}}
	opened := &port{listener: listener, silent: quiet}
	note := quiet.note
	if serving.TLS != nil {
		opened.idle = &idleListener{Listener: listener}
		opened.listener = opened.idle
		note = func(conn net.Conn, state http.ConnState) {
			quiet.note(conn, state)
			noteIdle(conn, state)
		}
	}
	opened.server = &http.Server{
		Handler:                      handler,
		TLSConfig:                    serving.TLS,
		ReadTimeout:                  s.config.ReadTimeout,
		WriteTimeout:                 s.config.WriteTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               1 << 20,
		DisableGeneralOptionsHandler: true, // OPTIONS * is a request like any other
		ConnState:                    note,
	}
	return opened
}

// shutdown accepts no more requests, and returns when those in flight have been answered, or the context has ended.
func (p *port) shutdown(ctx context.Context) error {
	p.silent.close()
	if p.idle != nil {
		p.idle.ending.Store(true)
	}
	return p.server.Shutdown(ctx)
}

func closeAll(ports []*port) {
	for _, open := range ports {
		_ = open.server.Close()   // the process ends here anyway
		_ = open.listener.Close() // it may not serve yet
	}
}
