package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"sync/atomic"

	"kube2014/pkg/api"
	"kube2014/pkg/server/healthz"
)

// postStartHook is what is done once the ports are open.
type postStartHook struct {
	name string
	run  func(ctx context.Context) error
	done atomic.Bool
}

// preShutdownHook is what is done before the ports are closed.
type preShutdownHook struct {
	name string
	run  func() error
}

var errNotDone = errors.New("not finished")

// AddPostStartHook lets a function run once the ports are open. Until it has returned without
// an error, /readyz fails. The context ends when the server does. A name that is taken is a
// mistake in the program: AddPostStartHook panics.
func (s *Server) AddPostStartHook(name string, run func(ctx context.Context) error) {
	if slices.ContainsFunc(s.postStart, func(hook *postStartHook) bool { return hook.name == name }) {
		panic(fmt.Sprintf("server: there are two post-start hooks %s", name))
	}
	s.postStart = append(s.postStart, &postStartHook{name: name, run: run})
}

// AddLoop lets a function run, in a goroutine of its own, from when the ports are open until the
// context ends. Nobody waits for it.
func (s *Server) AddLoop(run func(ctx context.Context)) { s.loops = append(s.loops, run) }

// AddPreShutdownHook lets a function run before the ports are closed.
func (s *Server) AddPreShutdownHook(name string, run func() error) {
	s.preShutdown = append(s.preShutdown, preShutdownHook{name, run})
}

// check tells whether the hook is done.
func (h *postStartHook) check() healthz.Check {
	return healthz.Check{Name: "poststarthook/" + h.name, Check: func() error {
		if !h.done.Load() {
			return errNotDone
		}
		return nil
	}}
}

// start runs the hook in a goroutine of its own.
func (h *postStartHook) start(ctx context.Context) {
	go func() {
		switch err := h.run(ctx); {
		case err == nil:
			h.done.Store(true)
		case ctx.Err() == nil:
			log.Printf("post-start hook %s failed: %s", h.name, api.Printable(api.InFull(err), ' '))
		}
	}()
}

// call runs the hook in a goroutine of its own, for Abort waits for nobody. The channel is closed
// when it is done.
func (h preShutdownHook) call() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.run(); err != nil {
			log.Printf("pre-shutdown hook %s failed: %s", h.name, api.Printable(api.InFull(err), ' '))
		}
	}()
	return done
}
