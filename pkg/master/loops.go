package master

import (
	"context"
	"fmt"
	"log"
	"runtime"
	"strings"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/util"
)

// Loops are the background tasks of a server.
type Loops struct {
	SyncEndpoints func() error // updates the endpoints
	PlacePending  func() error // places waiting pods; nil when there can be none
	Register      func() error // creates nodes of the machines; nil when there can be none, or they have been created

	reconcile func() error                          // as that of the registries
	follow    func(context.Context)                 // as that of the registries
	changes   func(context.Context) <-chan struct{} // as EndpointController.Changes
	mayBeFree func(context.Context) <-chan struct{} // as PodPlacer.Changes; nil when there can be no pods
	forever   func(f func(), period time.Duration)  // as Config.Forever
}

// newLoops returns the loops that any registries need.
func (m *Master) newLoops() Loops {
	endpoints := registry.MakeEndpointController(m.Stores.Services, m.Stores.Tasks)
	return Loops{reconcile: m.tracer.Sync("EtcdRegistry.Reconcile", m.Stores.Reconcile), follow: m.Stores.Follow,
		SyncEndpoints: m.tracer.Sync("EndpointController.SyncServiceEndpoints", endpoints.SyncServiceEndpoints), changes: endpoints.Changes,
		forever: m.config.Forever}
}

// RegisterMachines creates the nodes of the machines once: nodes that a user deletes later are not created
// again. An error is logged; SyncForever calls it again.
func (l *Loops) RegisterMachines() {
	if l.Register == nil {
		return
	}
	if err := l.Register(); err != nil {
		logError(err)
		return
	}
	l.Register = nil
}

// SyncForever registers machines, repairs inconsistencies, updates endpoints and places
// waiting pods every SyncPeriod, until ctx ends.
func (l *Loops) SyncForever(ctx context.Context) {
	l.forever(func() {
		if ctx.Err() != nil {
			runtime.Goexit()
		}
		l.RegisterMachines()
		if l.reconcile != nil {
			logError(l.reconcile())
		}
		logError(l.SyncEndpoints())
		if l.PlacePending != nil {
			logError(l.PlacePending())
		}
	}, SyncPeriod)
}

// PlaceOnChange places waiting pods soon after a machine may have become free, but at most
// once per syncPause, until ctx ends.
func (l *Loops) PlaceOnChange(ctx context.Context) {
	l.onChange(ctx, l.mayBeFree(ctx), l.PlacePending)
}

// SyncOnChange updates endpoints soon after tasks or services have changed, but at most
// once per syncPause, until ctx ends.
func (l *Loops) SyncOnChange(ctx context.Context) {
	l.onChange(ctx, l.changes(ctx), l.SyncEndpoints)
}

// onChange calls a function after changes, but at most once per syncPause, until ctx ends.
func (l *Loops) onChange(ctx context.Context, changes <-chan struct{}, do func() error) {
	l.forever(func() {
		select {
		case <-ctx.Done():
			runtime.Goexit()
		case <-changes:
			logError(do())
		}
	}, syncPause)
}

// followForever follows the changes of other programs until ctx ends. A panic is logged, and does
// not stop it.
func (l *Loops) followForever(ctx context.Context) {
	l.forever(func() {
		l.follow(ctx)
		runtime.Goexit()
	}, syncPause)
}

// untilDone calls a function until it succeeds, with a pause between. It logs repeated errors once. The error is that
// of the context when it ends.
func untilDone(ctx context.Context, do func() error) error {
	for log := logChanges(); ; {
		err := do()
		if err == nil {
			return nil
		}
		log(err)
		if !util.Sleep(ctx, syncPause) {
			return ctx.Err()
		}
	}
}

// logChanges returns a function that logs an error unless it is that of the call before.
func logChanges() func(error) {
	last := ""
	return func(err error) {
		text := fmt.Sprint(err)
		if text != last {
			logError(err)
		}
		last = text
	}
}

func logError(err error) {
	if err != nil {
		log.Print(strings.ReplaceAll(api.InFull(err), "\n", "; "))
	}
}
