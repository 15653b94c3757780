package master

import (
	"context"

	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
)

// Registries are the three registries, on one kind of store.
type Registries struct {
	Name        string // the store, for people
	Tasks       registry.TaskRegistry
	Controllers registry.ControllerRegistry
	Services    registry.ServiceRegistry
	Objects     storage.Interface  // the store of all three
	registry    *registry.Registry // all three

	Healthz   func() ([]string, error) // as ApiServer.Healthz; nil when the store can always be used
	Reconcile func() error             // repairs inconsistencies; nil when there cannot be any
	Follow    func(context.Context)    // follows the changes of other programs; nil when there can be none
	Close     func()                   // closes connections; nil when there are none
}

// Decorators wrap the clients of etcd's APIs, and the store.
type Decorators struct {
	Etcd2 func(registry.EtcdClient) registry.EtcdClient
	Etcd3 func(etcd3.Client) etcd3.Client
	Store func(storage.Interface) storage.Interface
}

// NewMemoryRegistries returns registries on a new store in memory.
func NewMemoryRegistries(d Decorators) Registries {
	return newRegistries(registry.MakeRegistry(d.Store(registry.MakeMemoryRegistry().Whole())), "memory")
}

// newRegistries returns one registry as all three.
func newRegistries(all *registry.Registry, name string) Registries {
	return Registries{Name: name, Tasks: all, Controllers: all, Services: all, Objects: all.Whole(), registry: all}
}
