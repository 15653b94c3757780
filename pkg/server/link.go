package server

import (
	"context"
	"fmt"

	"kube2014/pkg/server/healthz"
	"kube2014/pkg/server/request"
)

// Link is one of the servers behind the handler chain. The first link that serves a request answers it. Checks
// and hooks must be added before PrepareRun. Articles on today's server call this delegation.
type Link struct {
	request.Server
	Name   string
	Next   *Link           // gets the requests that this one does not serve; nil for the last one, which serves all
	Checks []healthz.Check // of /healthz, /livez and /readyz

	postStart   []*postStartHook
	preShutdown []preShutdownHook
	loops       []func(ctx context.Context)
}

// AddPostStartHook lets a function run once the ports are open. /readyz fails until it has returned nil. The
// context ends when the server does. It panics if this link, or one behind it, has a hook of the name.
func (l *Link) AddPostStartHook(name string, run func(ctx context.Context) error) {
	for _, hook := range l.merged().postStart {
		if hook.name == name {
			panic(fmt.Sprintf("server: there are two post-start hooks %s", name))
		}
	}
	l.postStart = append(l.postStart, &postStartHook{name: name, run: run})
}

// AddLoop lets a function run in a goroutine of its own, once the ports are open, until the context ends. The
// server does not wait for it.
func (l *Link) AddLoop(run func(ctx context.Context)) { l.loops = append(l.loops, run) }

// AddPreShutdownHook lets a function run before the ports are closed.
func (l *Link) AddPreShutdownHook(name string, run func() error) {
	l.preShutdown = append(l.preShutdown, preShutdownHook{name, run})
}

// merged returns the checks and hooks of a link and of those behind it.
func (l *Link) merged() (all Link) {
	for ; l != nil; l = l.Next {
		all.Checks = append(all.Checks, l.Checks...)
		all.postStart = append(all.postStart, l.postStart...)
		all.preShutdown = append(all.preShutdown, l.preShutdown...)
		all.loops = append(all.loops, l.loops...)
	}
	return all
}

// servers returns the servers of a link and of those behind it.
func (l *Link) servers() (all []request.Server) {
	for ; l != nil; l = l.Next {
		all = append(all, l)
	}
	return all
}
