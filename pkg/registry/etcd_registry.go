package registry

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
)

// EtcdClient is what the registry uses of etcd's v2 keys API.
type EtcdClient = etcd2.Client

// EtcdRegistry is a Registry on etcd, under the original's keys. Any number of
// apiservers may share one etcd.
type EtcdRegistry struct {
	*Registry
	*etcd2.Store
}

// MakeEtcdRegistry returns a registry on etcd. The machines, a parameter of the
// original, are not used: every machine that has keys is read, so that a task stays
// visible when its machine is no longer in -machines.
func MakeEtcdRegistry(client EtcdClient, machines []string) *EtcdRegistry {
	store := etcd2.New(client, makeManifest)
	return &EtcdRegistry{MakeRegistry(store), store}
}

// Decorate wraps the store, for example with a trace. Call it before the first request.
func (r *EtcdRegistry) Decorate(decorate func(storage.Interface) storage.Interface) {
	r.Registry = MakeRegistry(decorate(r.Store))
}

// Reconcile repairs inconsistencies after crashes and changes of other programs. Call it
// periodically. The error joins all failures.
func (r *EtcdRegistry) Reconcile() error { return r.Store.Reconcile() }

// makeManifest returns a task's manifest for the given services.
func makeManifest(machine string, task api.Task, services []api.Service) (api.ContainerManifest, error) {
	factory := BasicManifestFactory{serviceRegistry: readServices{services: services}}
	return factory.MakeManifest(machine, task)
}

// readServices is a ServiceRegistry of services that have been read already.
type readServices struct {
	ServiceRegistry
	services []api.Service
}

// ListServices implements ServiceRegistry.
func (r readServices) ListServices() (api.ServiceList, error) {
	return api.ServiceList{Items: r.services}, nil
}
