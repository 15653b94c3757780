package main

import (
	"context"
	"log"
	"runtime"
	"strings"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/client"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/server/request"
	"kube2014/pkg/storage"
)

// registries are the three registries, on one kind of store.
type registries struct {
	name        string // the store, for people
	tasks       registry.TaskRegistry
	controllers registry.ControllerRegistry
	services    registry.ServiceRegistry
	objects     storage.Interface // that all three keep their objects in

	healthz       func() ([]string, error)              // as ApiServer.Healthz; nil when the store can always be used
	reconcile     func() error                          // repairs inconsistencies; nil when there cannot be any
	syncEndpoints func() error                          // brings the endpoints up to date
	changes       func(context.Context) <-chan struct{} // as EndpointController.Changes
	follow        func(context.Context)                 // follows the changes of other programs; nil when there can be none
	close         func()                                // closes connections; nil when there are none
	placePending  func() error                          // places waiting pods; nil when there can be none
	mayBeFree     func(context.Context) <-chan struct{} // as PodPlacer.Changes; nil when there can be no pods
	register      func() error                          // makes nodes of the machines; nil when there can be none
}

// assemble builds the registries and the doors that the flags ask for.
func (m *master) assemble(o *options.ServerRunOptions) (err error) {
	m.stores = memoryRegistries()
	if len(o.Etcd.Servers) > 0 {
		if m.stores, err = storesOf(o).etcdRegistries(m.measured(o)); err != nil {
			return err
		}
	}
	m.readRoles(o)
	scheduler := makeScheduler(o, m.stores.tasks)
	m.openFirst(o, storageTable(m.stores, m.kubelets, scheduler))
	m.openSecond(o, v1.Scheme, scheduler)
	return nil
}

func memoryRegistries() registries { return registriesInMemory(registry.MakeMemoryRegistry()) }

func registriesInMemory(memory *registry.MemoryRegistry) registries {
	return registriesOver(memory, "memory")
}

// registriesOver returns the three registries that one registry is.
func registriesOver(all *registry.Registry, name string) registries {
	endpoints := registry.MakeEndpointController(all, all)
	return registries{
		name:  name,
		tasks: all, controllers: all, services: all, objects: all.Objects(),
		syncEndpoints: endpoints.SyncServiceEndpoints, changes: endpoints.Changes,
	}
}

// storageTable makes a storage for each registry. The table is the whole API.
func storageTable(r registries, containerInfo client.ContainerInfo, scheduler registry.Scheduler) map[string]apiserver.RESTStorage {
	return map[string]apiserver.RESTStorage{
		"tasks":                  registry.MakeTaskRegistryStorage(r.tasks, containerInfo, scheduler),
		"replicationControllers": registry.MakeControllerRegistryStorage(r.controllers),
		"services":               registry.MakeServiceRegistryStorage(r.services),
	}
}

// openFirst puts a table behind HTTP, or nothing if its version is turned off.
func (m *master) openFirst(o *options.ServerRunOptions, table map[string]apiserver.RESTStorage) {
	if !o.APIEnablement.Serves(v1beta1.Version) {
		table = nil
	}
	m.first = serveTable(table, m.stores.healthz, o.Generic.Prefix)
}

func serveTable(table map[string]apiserver.RESTStorage, healthz func() ([]string, error), prefix string) *apiserver.ApiServer {
	first := apiserver.New(table, prefix)
	first.Healthz, first.KnownAs = healthz, knownAs
	return first
}

// knownAs lets one policy decide about both doors: a task is a pod.
var knownAs = map[string]request.Info{
	"tasks":                  {APIVersion: v1.Version, ServedAs: v1beta1.Version, Namespace: v1.Namespace, Resource: "pods"},
	"replicationControllers": {APIVersion: v1.Version, ServedAs: v1beta1.Version, Namespace: v1.Namespace, Resource: "replicationcontrollers"},
	"services":               {APIVersion: v1.Version, ServedAs: v1beta1.Version, Namespace: v1.Namespace, Resource: "services"},
}

// registerMachines makes nodes of the machines, unless that has been done: who deletes such
// a node later means it.
func (r *registries) registerMachines() {
	if r.register == nil {
		return
	}
	if err := r.register(); err != nil {
		logError(err)
		return
	}
	r.register = nil
}

// syncForever registers machines, repairs inconsistencies, updates endpoints and places
// waiting pods every syncPeriod, until ctx ends.
func syncForever(ctx context.Context, stores registries) {
	forever(func() {
		if ctx.Err() != nil {
			runtime.Goexit()
		}
		stores.registerMachines()
		if stores.reconcile != nil {
			logError(stores.reconcile())
		}
		logError(stores.syncEndpoints())
		if stores.placePending != nil {
			logError(stores.placePending())
		}
	}, syncPeriod)
}

// placeOnChange places waiting pods soon after a machine may have become free, but at most
// once per syncPause, until ctx ends.
func placeOnChange(ctx context.Context, stores registries) {
	onChange(ctx, stores.mayBeFree(ctx), stores.placePending)
}

// syncOnChange updates endpoints soon after tasks or services have changed, but at most
// once per syncPause, until ctx ends.
func syncOnChange(ctx context.Context, stores registries) {
	onChange(ctx, stores.changes(ctx), stores.syncEndpoints)
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
func followForever(ctx context.Context, stores registries) {
	forever(func() {
		stores.follow(ctx)
		runtime.Goexit()
	}, syncPause)
}

func logError(err error) {
	if err != nil {
		log.Print(strings.ReplaceAll(api.InFull(err), "\n", "; "))
	}
}
