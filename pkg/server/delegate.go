package server

import (
	"context"
	"fmt"

	"kube2014/pkg/server/healthz"
	"kube2014/pkg/server/request"
)

// Delegate is one of the servers behind the handler chain. The first delegate that serves a request answers it. Checks
// and hooks must be added before PrepareRun. Today's server calls it a DelegationTarget.
type Delegate struct {
	request.Server
	Name   string
	Next   *Delegate       // gets the requests that this one does not serve; nil for the last one, which serves all
	Checks []healthz.Check // of /healthz, /livez and /readyz

	postStart   []*postStartHook
	preShutdown []preShutdownHook
	loops       []func(ctx context.Context)
}

// AddPostStartHook lets a function run once the ports are open. /readyz fails until it has returned nil. The
// context ends when the server does. It panics if this delegate, or one behind it, has a hook of the name.
func (d *Delegate) AddPostStartHook(name string, run func(ctx context.Context) error) {
	for _, hook := range d.merged().postStart {
		if hook.name == name {
			panic(fmt.Sprintf("server: there are two post-start hooks %s", name))
		}
	}
	d.postStart = append(d.postStart, &postStartHook{name: name, run: run})
}

// AddLoop lets a function run in a goroutine of its own, once the ports are open, until the context ends. The
// server does not wait for it.
func (d *Delegate) AddLoop(run func(ctx context.Context)) { d.loops = append(d.loops, run) }

// AddPreShutdownHook lets a function run before the ports are closed.
func (d *Delegate) AddPreShutdownHook(name string, run func() error) {
	d.preShutdown = append(d.preShutdown, preShutdownHook{name, run})
}

// merged returns the checks and hooks of a delegate and of those behind it.
func (d *Delegate) merged() (all Delegate) {
	for ; d != nil; d = d.Next {
		all.Checks = append(all.Checks, d.Checks...)
		all.postStart = append(all.postStart, d.postStart...)
		all.preShutdown = append(all.preShutdown, d.preShutdown...)
		all.loops = append(all.loops, d.loops...)
	}
	return all
}

// servers returns the servers of a delegate and of those behind it.
func (d *Delegate) servers() (all []request.Server) {
	for ; d != nil; d = d.Next {
		all = append(all, d)
	}
	return all
}
