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
	"kube2014/pkg/util"
)

// EndpointController keeps the endpoints of all services up to date with the
// tasks that they select.
type EndpointController struct {
	serviceRegistry ServiceRegistry
	store           storage.Interface // of both registries

	mu     sync.Mutex // held while endpoints are synced; guards what follows
	synced uint64     // the version of the store to which all endpoints correspond
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

// syncService writes the endpoints of a service, unless they are up to date
// already (D31), or somebody else manages them. It reports whether it wrote them.
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
		isManaged := stored.Managed && len(service.Labels) > 0 // today's controllers ignore services without labels
		if same || isManaged {
			return false, nil
		}
		endpoints.ObjectMeta = stored.ObjectMeta // the additions of the second door stay
	}
	err = e.serviceRegistry.UpdateEndpoints(endpoints)
	if api.KindOf(err) == api.NotFound { // the service has been deleted meanwhile
		return false, nil
	}
	return err == nil, err
}

// endpointsOf returns the endpoints of the tasks that a service selects, sorted by the tasks' ids. Their
// creation time is that of the service: a service of the first door has none, so that etcd has the same JSON
// as in June 2014. The cache of the store will do: it is not older than the services, which were just read.
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
	if havePods { // else etcd has the same JSON as in June 2014
		for _, task := range behind {
			endpoints.Targets = append(endpoints.Targets, api.Target{TaskID: task.ID, UID: api.UIDOf(task)})
		}
	}
	return endpoints, nil
}

// stored returns the cached endpoints of a service, nil for none.
func (e *EndpointController) stored(service string) *api.Endpoints {
	stored, err := e.store.Cached().Get(api.DefaultKey(api.EndpointsKind, service))
	if err != nil {
		return nil
	}
	return stored.Object.(*api.Endpoints)
}

// noteSynced records the version of the store to which the endpoints correspond. Without other
// writers, that is the version after the own writes.
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

// Changes returns a channel that receives a value at first, and after changes of tasks or services
// that this process sees, until the context ends. Several changes may share one value.
func (e *EndpointController) Changes(ctx context.Context) <-chan struct{} {
	changes := make(chan struct{}, 1)
	for _, kind := range []api.Kind{api.TaskKind, api.ServiceKind} {
		go watchForever(ctx, e.store.Cached(), storage.InDefault(kind), changes)
	}
	return changes
}

// watchRetry is the pause before another attempt to watch an unavailable store.
const watchRetry = time.Second

// watchForever signals each change of the selected objects. It also signals each begin of a watch, because it may have
// missed a change before.
func watchForever(ctx context.Context, cached storage.Reader, selection storage.Selection, changes chan<- struct{}) {
	for {
		version, err := cached.Version()
		var watcher storage.Watcher
		if err == nil {
			watcher, err = cached.Watch(selection, version)
		}
		for err == nil {
			note(changes)
			if _, err = watcher.Next(ctx); err != nil {
				watcher.Stop()
			}
		}
		switch kind := api.KindOf(err); {
		case kind == api.Expired, kind == api.Unavailable && util.Sleep(ctx, watchRetry):
		default:
			return
		}
	}
}

func note(changes chan<- struct{}) {
	select {
	case changes <- struct{}{}:
	default: // a signal is pending
	}
}
