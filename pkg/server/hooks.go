package server

import (
	"context"
	"errors"
	"log"
	"sync/atomic"

	"kube2014/pkg/api"
	"kube2014/pkg/server/healthz"
)

// postStartHook is a function that runs once the ports are open.
type postStartHook struct {
	name string
	run  func(ctx context.Context) error
	done atomic.Bool
}

// preShutdownHook is a function that runs before the ports are closed.
type preShutdownHook struct {
	name string
	run  func() error
}

var errNotDone = errors.New("not finished")

// check reports whether the hook is done.
func (h *postStartHook) check() healthz.Check {
	return healthz.Check{Name: "poststarthook/" + h.name, Check: func() error {
		if !h.done.Load() {
			return errNotDone
		}
		return nil
	}}
}

// call runs the hook.
func (h *postStartHook) call(ctx context.Context) {
	switch err := h.run(ctx); {
	case err == nil:
		h.done.Store(true)
	case ctx.Err() == nil:
		log.Printf("post-start hook %s failed: %s", h.name, api.Printable(api.InFull(err), ' '))
	}
}

// call runs the hook in a goroutine of its own, because Abort must not wait for it. The channel is closed
// when the hook is done.
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
