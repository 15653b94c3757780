package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// EndpointController keeps the endpoints of all services up to date with the
// tasks that they select.
type EndpointController struct {
	serviceRegistry ServiceRegistry
	store           storage.Interface // of both registries

	mu     sync.Mutex // held while endpoints are synced; guards what follows
	synced uint64     // the version of the store of which all endpoints are
}

// MakeEndpointController returns a controller over the two registries, which have the same store.
func MakeEndpointController(serviceRegistry ServiceRegistry, taskRegistry TaskRegistry) *EndpointController {
	return &EndpointController{serviceRegistry: serviceRegistry, store: objectsOf(taskRegistry)}
}

// SyncServiceEndpoints computes the endpoints of every service and writes those
// that changed, if anything in the store has changed since it last did so. A service
// that fails does not stop the others: the error joins all failures.
func (e *EndpointController) SyncServiceEndpoints() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	services, err := e.store.List(storage.InDefault(api.ServiceKind))
	if err != nil {
		return fmt.Errorf("endpoint sync: %w", err)
	}
	if services.Version == e.synced {
		return nil
	}
	var failures []error
	var written uint64
	for _, service := range services.Items {
		wrote, err := e.syncService(service.Object.(*api.Service))
		if wrote {
			written++
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("endpoint sync: service %s: %w", service.Key().ID, err))
		}
	}
	if len(failures) == 0 {
		e.noteSynced(services.Version, written)
	}
	return errors.Join(failures...)
}

// syncService writes the endpoints of a service, unless they are known to be so
// already (D31), or somebody else keeps them. It tells whether it did.
func (e *EndpointController) syncService(service *api.Service) (wrote bool, err error) {
	if service.SelectsNothing {
		return false, nil
	}
	endpoints, err := e.endpointsOf(service)
	if err != nil {
		return false, err
	}
	if stored := e.stored(service.ID); stored != nil {
		same := slices.Equal(stored.Endpoints, endpoints.Endpoints) && slices.Equal(stored.Targets, endpoints.Targets)
		isKept := stored.Managed && len(service.Labels) > 0 // today's controllers know no service without labels
		if same || isKept {
			return false, nil
		}
		endpoints.ObjectMeta = stored.ObjectMeta // what the second door has added stays
	}
	err = e.serviceRegistry.UpdateEndpoints(endpoints)
	if api.KindOf(err) == api.NotFound { // deleted meanwhile: nothing to keep
		return false, nil
	}
	return err == nil, err
}

// endpointsOf returns the endpoints of the tasks that a service selects, sorted by the tasks' ids. They
// are as old as the service: one of the first door has no age, so that etcd keeps what June 2014 does.
// The services have just been read: what the store has cached is not older.
func (e *EndpointController) endpointsOf(service *api.Service) (api.Endpoints, error) {
	endpoints := api.Endpoints{ObjectMeta: api.ObjectMeta{CreationTime: service.CreationTime}, Name: service.ID, Endpoints: []string{}}
	tasks, err := e.store.Cached().List(storage.InDefault(api.TaskKind).With(service.Labels))
	if err != nil {
		return endpoints, err
	}
	var behind []*api.Task
	havePods := false
	for _, object := range tasks.Items {
		task := object.Object.(*api.Task)
		if address, ok := endpointOf(*task); ok {
			endpoints.Endpoints = append(endpoints.Endpoints, address)
			behind, havePods = append(behind, task), havePods || task.IsPod
		}
	}
	if havePods { // else etcd keeps what June 2014 does
		for _, task := range behind {
			endpoints.Targets = append(endpoints.Targets, api.Target{TaskID: task.ID, UID: api.UIDOf(task)})
		}
	}
	return endpoints, nil
}

// stored returns the endpoints of a service, nil if they are not known.
func (e *EndpointController) stored(service string) *api.Endpoints {
	stored, err := e.store.Cached().Get(api.DefaultKey(api.EndpointsKind, service))
	if err != nil {
		return nil
	}
	return stored.Object.(*api.Endpoints)
}

// noteSynced notes of which version of the store the endpoints are. If nobody else has
// written since, that is the version after the own writes.
func (e *EndpointController) noteSynced(version, written uint64) {
	if now, err := e.store.Cached().Version(); err == nil && now == version+written {
		version = now
	}
	e.synced = version
}

// endpointOf returns the task's machine and the first of its host ports (D38). A
// task without one is no endpoint (D20).
func endpointOf(task api.Task) (string, bool) {
	ports := task.HostPorts()
	if len(ports) == 0 || task.CurrentState.Host == "" {
		return "", false
	}
	return net.JoinHostPort(task.CurrentState.Host, strconv.Itoa(ports[0])), true
}

// Changes returns a channel that gets a value at first, and after tasks or services have
// changed, as far as this process knows, until the context ends. Several changes may be
// one value.
func (e *EndpointController) Changes(ctx context.Context) <-chan struct{} {
	changes := make(chan struct{}, 1)
	for _, kind := range []api.Kind{api.TaskKind, api.ServiceKind} {
		go watchKind(ctx, e.store.Cached(), kind, changes)
	}
	return changes
}

// watchRetry is how long a store that cannot be watched yet is left alone.
const watchRetry = time.Second

// watchKind notes each change of a kind. It also notes that it begins to watch, at first
// and after it was cut off: it may have missed a change before.
func watchKind(ctx context.Context, cached storage.Reader, kind api.Kind, changes chan<- struct{}) {
	for {
		version, err := cached.Version()
		var watcher storage.Watcher
		if err == nil {
			watcher, err = cached.Watch(storage.InDefault(kind), version)
		}
		for err == nil {
			note(changes)
			if _, err = watcher.Next(ctx); err != nil {
				watcher.Stop()
			}
		}
		switch api.KindOf(err) {
		case api.Expired:
		case api.Unavailable: // it has not been found out yet what the store is
			select {
			case <-ctx.Done():
				return
			case <-time.After(watchRetry):
			}
		default:
			return
		}
	}
}

func note(changes chan<- struct{}) {
	select {
	case changes <- struct{}{}:
	default: // nobody has looked since the last one
	}
}
