package server

import (
	"context"
	"fmt"

	"kube2014/pkg/server/healthz"
	"kube2014/pkg/server/request"
)

// Link is one of the servers behind the handler chain: a request is for the first one that serves it. Its
// checks and hooks are added before PrepareRun is called. Articles on today's server call this delegation.
type Link struct {
	request.Server
	Name   string
	Next   *Link           // gets what this one does not serve; nil for the last one, which takes all
	Checks []healthz.Check // of /healthz, /livez and /readyz

	postStart   []*postStartHook
	preShutdown []preShutdownHook
	loops       []func(ctx context.Context)
}

// AddPostStartHook lets a function run once the ports are open. Until it has returned without
// an error, /readyz fails. The context ends when the server does. A name that is taken, here or in a link
// behind, is a mistake in the program: AddPostStartHook panics.
func (l *Link) AddPostStartHook(name string, run func(ctx context.Context) error) {
	for _, hook := range l.merged().postStart {
		if hook.name == name {
			panic(fmt.Sprintf("server: there are two post-start hooks %s", name))
		}
	}
	l.postStart = append(l.postStart, &postStartHook{name: name, run: run})
}

// AddLoop lets a function run, in a goroutine of its own, from when the ports are open until the
// context ends. Nobody waits for it.
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
