package main

import (
	"context"

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

	healthz   func() ([]string, error) // as ApiServer.Healthz; nil when the store can always be used
	reconcile func() error             // repairs inconsistencies; nil when there cannot be any
	follow    func(context.Context)    // follows the changes of other programs; nil when there can be none
	close     func()                   // closes connections; nil when there are none
}

// assemble builds the registries and the doors that the flags ask for.
func (m *master) assemble(o *options.ServerRunOptions) (err error) {
	m.stores = registriesInMemory(m.tracer.Store)
	if len(o.Etcd.Servers) > 0 {
		if m.stores, err = storesOf(o).etcdRegistries(m.decorators(o)); err != nil {
			return err
		}
	}
	m.loops = loopsOver(m.stores)
	m.loops.reconcile = m.tracer.Sync("EtcdRegistry.Reconcile", m.loops.reconcile)
	m.loops.syncEndpoints = m.tracer.Sync("EndpointController.SyncServiceEndpoints", m.loops.syncEndpoints)
	m.readRoles(o)
	scheduler := m.tracer.Scheduler(makeScheduler(o, m.stores.tasks))
	table := storageTable(m.stores, m.kubelets, scheduler)
	for resource, storage := range table {
		table[resource] = m.tracer.RESTStorage(storage)
	}
	m.openFirst(o, table)
	m.openSecond(o, scheduler)
	return nil
}

func registriesInMemory(decorate func(storage.Interface) storage.Interface) registries {
	return registriesOver(registry.MakeRegistry(decorate(registry.MakeMemoryRegistry().Objects())), "memory")
}

// registriesOver returns the three registries that one registry is.
func registriesOver(all *registry.Registry, name string) registries {
	return registries{name: name, tasks: all, controllers: all, services: all, objects: all.Objects()}
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
