package main

import (
	"context"
	"log"
	"runtime"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
)

// loops are what the server does by itself, besides answering requests.
type loops struct {
	reconcile     func() error                          // as that of the registries
	follow        func(context.Context)                 // as that of the registries
	syncEndpoints func() error                          // brings the endpoints up to date
	changes       func(context.Context) <-chan struct{} // as EndpointController.Changes
	placePending  func() error                          // places waiting pods; nil when there can be none
	mayBeFree     func(context.Context) <-chan struct{} // as PodPlacer.Changes; nil when there can be no pods
	register      func() error                          // makes nodes of the machines; nil when there can be none, or they are made
}

// loopsOver returns the loops that any registries need.
func loopsOver(stores registries) loops {
	endpoints := registry.MakeEndpointController(stores.services, stores.tasks)
	return loops{reconcile: stores.reconcile, follow: stores.follow, syncEndpoints: endpoints.SyncServiceEndpoints, changes: endpoints.Changes}
}

// all returns the loops to run.
func (l *loops) all() []func(context.Context) {
	all := []func(context.Context){l.syncForever, l.syncOnChange}
	if l.mayBeFree != nil {
		all = append(all, l.placeOnChange)
	}
	if l.follow != nil {
		all = append(all, l.followForever)
	}
	return all
}

// registerMachines makes nodes of the machines, unless that has been done: who deletes such
// a node later means it.
func (l *loops) registerMachines() {
	if l.register == nil {
		return
	}
	if err := l.register(); err != nil {
		logError(err)
		return
	}
	l.register = nil
}

// syncForever registers machines, repairs inconsistencies, updates endpoints and places
// waiting pods every syncPeriod, until ctx ends.
func (l *loops) syncForever(ctx context.Context) {
	forever(func() {
		if ctx.Err() != nil {
			runtime.Goexit()
		}
		l.registerMachines()
		if l.reconcile != nil {
			logError(l.reconcile())
		}
		logError(l.syncEndpoints())
		if l.placePending != nil {
			logError(l.placePending())
		}
	}, syncPeriod)
}

// placeOnChange places waiting pods soon after a machine may have become free, but at most
// once per syncPause, until ctx ends.
func (l *loops) placeOnChange(ctx context.Context) {
	onChange(ctx, l.mayBeFree(ctx), l.placePending)
}

// syncOnChange updates endpoints soon after tasks or services have changed, but at most
// once per syncPause, until ctx ends.
func (l *loops) syncOnChange(ctx context.Context) {
	onChange(ctx, l.changes(ctx), l.syncEndpoints)
}

// onChange calls a function after changes, but at most once per syncPause, until ctx ends.
func onChange(ctx context.Context, changes <-chan struct{}, do func() error) {
	forever(func() {
		select {
		case <-ctx.Done():
			runtime.Goexit()
		case <-changes:
			logError(do())
		}
	}, syncPause)
}

// followForever follows the changes of other programs until ctx ends. After a panic, which
// is logged, it goes on.
func (l *loops) followForever(ctx context.Context) {
	forever(func() {
		l.follow(ctx)
		runtime.Goexit()
	}, syncPause)
}

func logError(err error) {
	if err != nil {
		log.Print(strings.ReplaceAll(api.InFull(err), "\n", "; "))
	}
}
