package server

import (
	"fmt"
	"net"
	"net/http"

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

// port is an open port and its server.
type port struct {
	listener net.Listener
	server   *http.Server
	isTLS    bool
	silent   *silent
}

func (p *port) address() net.Addr {
	if p == nil {
		return nil
	}
	return p.listener.Addr()
}

func (p *port) serve() error {
	if p.isTLS {
		return p.server.ServeTLS(p.listener, "", "")
	}
	return p.server.Serve(p.listener)
}

// open opens a port. A nil Serving stays closed.
func (s *Server) open(serving *Serving, handler http.Handler) (*port, error) {
	if serving == nil {
		return nil, nil
	}
	listener, err := s.config.Listen("tcp", serving.Address)
	if err != nil {
		return nil, &ListenError{serving.Address, util.SystemError(err)}
	}
	return s.newPort(listener, handler, serving), nil
}

func (s *Server) newPort(listener net.Listener, handler http.Handler, serving *Serving) *port {
	quiet := &silent{conns: map[net.Conn]bool{}}
	return &port{listener, &http.Server{
		Handler:                      handler,
		TLSConfig:                    serving.TLS,
		ReadTimeout:                  s.config.ReadTimeout,
		WriteTimeout:                 s.config.WriteTimeout,
		MaxHeaderBytes:               1 << 20,
		DisableGeneralOptionsHandler: true, // OPTIONS * is a request like any other
		ConnState:                    quiet.note,
	}, serving.TLS != nil, quiet}
}

func closeAll(ports []*port) {
	for _, open := range ports {
		_ = open.server.Close() // the process ends here anyway
	}
}
