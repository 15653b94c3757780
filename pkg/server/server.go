package server

import (
	"context"
	"errors"
	"log"
	"net/http"
	"slices"
	"sync"
	"time"

	"kube2014/pkg/server/healthz"
)

// Server serves a chain of servers.
type Server struct {
	config           *Config
	insecure, secure http.Handler
	loopback         http.Handler
	chain            Delegate // has the checks and hooks of all delegates; PrepareRun sets it

	started chan struct{} // closed when the post-start hooks have ended
	ending  chan struct{} // closed when the server begins to end
	aborted chan struct{} // closed when it must end at once
	abort   sync.Once
}

// InsecureHandler returns the chain of the insecure port.
func (s *Server) InsecureHandler() http.Handler { return s.insecure }

// SecureHandler returns the chain of the secure port.
func (s *Server) SecureHandler() http.Handler { return s.secure }

// Abort ends the server at once, and cuts off the requests in flight.
func (s *Server) Abort() { s.abort.Do(func() { close(s.aborted) }) }

// Started returns a channel that is closed when the post-start hooks have ended.
func (s *Server) Started() <-chan struct{} { return s.started }

var errEnding = errors.New("the server is about to end")

// PreparedServer is a server with its own paths installed, ready to run.
type PreparedServer struct{ *Server }

// PrepareRun installs the server's own paths. /healthz and /livez have the checks of the chain; /readyz also
// fails until the hooks are done, and when the server is ending.
func (s *Server) PrepareRun() PreparedServer {
	s.chain = s.config.Chain.merged()
	if s.config.Mux == nil {
		return PreparedServer{s}
	}
	checks := func() []healthz.Check { return s.chain.Checks }
	healthz.Install(s.config.Mux, "healthz", checks, s.chain.Checks...)
	healthz.Install(s.config.Mux, "livez", checks, s.chain.Checks...)
	ready := slices.Clone(s.chain.Checks)
	for _, hook := range s.chain.postStart {
		ready = append(ready, hook.check())
	}
	healthz.Install(s.config.Mux, "readyz", s.readyChecks, ready...)
	if s.config.Metrics != nil {
		s.config.Mux.Handle("/metrics", s.config.Metrics.Handler())
	}
	if s.config.FlowControl != nil {
		for path, handler := range s.config.FlowControl.Handlers() {
			s.config.Mux.Handle(path, handler)
		}
	}
	if s.config.Profiling {
		installProfiling(s.config.Mux)
	}
	return PreparedServer{s}
}

// readyChecks returns the checks of /readyz: those of the chain, those of unfinished hooks, and a failing one if
// the server is ending.
func (s *Server) readyChecks() []healthz.Check {
	checks := slices.Clone(s.chain.Checks)
	for _, hook := range s.chain.postStart {
		if !hook.done.Load() {
			checks = append(checks, hook.check())
		}
	}
	select {
	case <-s.ending:
		checks = append(checks, healthz.Check{Name: "shutdown", Check: func() error { return errEnding }})
	default:
	}
	return checks
}

// ErrAborted is the error of Run after Abort.
var ErrAborted = errors.New("the server was ended at once")

// Run serves until the context ends. Then /readyz fails for a while, no more connections are
// accepted, and the requests in flight are finished (D30), or cut off after a timeout. It returns
// nil then, ErrAborted after Abort, a *ListenError if a port cannot be opened, and another error
// if a port fails.
func (p PreparedServer) Run(ctx context.Context) error {
	s := p.Server
	var ports []*port
	insecure, err := s.open(s.config.Insecure, s.insecure, &ports)
	if err != nil {
		return err
	}
	secure, err := s.open(s.config.Secure, s.secure, &ports)
	if err != nil {
		closeAll(ports)
		return err
	}
	if s.config.Loopback != nil {
		ports = append(ports, s.newPort(s.config.Loopback, s.loopback, &Serving{}))
	}
	if s.config.Listening != nil {
		s.config.Listening(insecure.address(), secure.address())
	}
	broken := make(chan error, len(ports))
	for _, open := range ports {
		go func() { broken <- open.serve() }()
	}
	hooks, endHooks := context.WithCancel(context.WithoutCancel(ctx))
	defer endHooks()
	defer closeAll(ports)
	for _, loop := range s.chain.loops {
		go loop(hooks)
	}
	var starting sync.WaitGroup
	for _, hook := range s.chain.postStart {
		starting.Go(func() { hook.call(hooks) })
	}
	go func() {
		starting.Wait()
		close(s.started)
	}()
	select {
	case err = <-broken:
		return err
	case <-s.aborted:
		return ErrAborted
	case <-ctx.Done():
	}
	close(s.ending)
	select {
	case <-time.After(s.config.ShutdownDelay):
	case <-s.aborted:
		return ErrAborted
	}
	for _, hook := range s.chain.preShutdown {
		select {
		case <-hook.call():
		case <-s.aborted:
			return ErrAborted
		}
	}
	return s.drain(ports)
}

// drain accepts no more requests, and waits for those in flight.
func (s *Server) drain(ports []*port) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.DrainTimeout)
	defer cancel()
	drained := make(chan error, len(ports)+1)
	for _, open := range ports {
		go func() { drained <- open.shutdown(ctx) }()
	}
	go func() {
		s.config.inFlight.Wait()
		drained <- nil
	}()
	for range len(ports) + 1 {
		select {
		case err := <-drained:
			if err == nil {
				continue
			}
		case <-ctx.Done():
		case <-s.aborted:
			return ErrAborted
		}
		log.Printf("some requests were not finished in %v and are cut off", s.config.DrainTimeout)
		return nil
	}
	return nil
}
