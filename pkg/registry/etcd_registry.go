package registry

import (
	"context"
	"time"

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
	etcd *etcd2.Store
}

// MakeEtcdRegistry returns a registry on etcd. The machines, a parameter of the
// original, are not used: every machine that has keys is read, so that a task stays
// visible when its machine is no longer in -machines.
func MakeEtcdRegistry(client EtcdClient, machines []string) *EtcdRegistry {
	store := etcd2.New(client, makeManifest)
	return &EtcdRegistry{Registry: MakeRegistry(store), etcd: store}
}

// Decorate puts something around the store, such as a trace. It is to be called
// before the first request.
func (r *EtcdRegistry) Decorate(decorate func(storage.Interface) storage.Interface) {
	r.Registry = MakeRegistry(decorate(r.etcd))
}

// SetClock lets the registry take the time from another clock than the system's. It
// is to be called before the first request.
func (r *EtcdRegistry) SetClock(now func() time.Time, after func(time.Duration) <-chan time.Time) {
	r.etcd.SetClock(now, after)
}

// Healthz returns an api.Unavailable error when etcd does not answer. When it does,
// the warnings name each key that cannot be decoded, one line a key.
func (r *EtcdRegistry) Healthz() (warnings []string, err error) { return r.etcd.Healthz() }

// Reconcile repairs what crashes and other programs have left inconsistent. Call it
// periodically. The error joins all failures.
func (r *EtcdRegistry) Reconcile() error { return r.etcd.Reconcile() }

// Follow lets those who watch see the changes of other programs, until the context
// ends.
func (r *EtcdRegistry) Follow(ctx context.Context) { r.etcd.Follow(ctx) }

// makeManifest makes a task's manifest when the services are known.
func makeManifest(machine string, task api.Task, services []api.Service) (api.ContainerManifest, error) {
	factory := BasicManifestFactory{serviceRegistry: readServices{services: services}}
	return factory.MakeManifest(machine, task)
}

// readServices is a ServiceRegistry whose services have been read.
type readServices struct {
	ServiceRegistry
	services []api.Service
}

// ListServices implements ServiceRegistry.
func (r readServices) ListServices() (api.ServiceList, error) {
	return api.ServiceList{Items: r.services}, nil
}
