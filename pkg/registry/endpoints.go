package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// EndpointController keeps the endpoints of all services up to date with the
// tasks that they select.
type EndpointController struct {
	serviceRegistry ServiceRegistry
	taskRegistry    TaskRegistry
	store           storage.Interface // of both registries; nil if they do not have the same one

	mu     sync.Mutex // held while endpoints are synced; guards what follows
	synced uint64     // the version of the store of which all endpoints are
}

// MakeEndpointController returns a controller over the two registries.
func MakeEndpointController(serviceRegistry ServiceRegistry, taskRegistry TaskRegistry) *EndpointController {
	e := &EndpointController{serviceRegistry: serviceRegistry, taskRegistry: taskRegistry}
	services, servicesVersioned := serviceRegistry.(Versioned)
	tasks, tasksVersioned := taskRegistry.(Versioned)
	if servicesVersioned && tasksVersioned && services.Objects() == tasks.Objects() {
		e.store = services.Objects()
	}
	return e
}

// SyncServiceEndpoints computes the endpoints of every service and writes those
// that changed, if anything in the store has changed since it last did so. A service
// that fails does not stop the others: the error joins all failures.
func (e *EndpointController) SyncServiceEndpoints() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	services, known, err := e.servicesAndEndpoints()
	if err != nil {
		return fmt.Errorf("endpoint sync: %w", err)
	}
	if e.store != nil && services.Version == e.synced {
		return nil
	}
	endpointsOf := e.selectEndpoints()
	var failures []error
	var written uint64
	for _, service := range services.Items {
		wrote, err := e.syncService(service.Object.(*api.Service), known, endpointsOf)
		if wrote {
			written++
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("endpoint sync: service %s: %w", service.GetID(), err))
		}
	}
	if len(failures) == 0 && e.store != nil {
		e.noteSynced(services.Version, written)
	}
	return errors.Join(failures...)
}

// Changes returns a channel that gets a value after tasks or services have changed, as
// far as this process knows, until the context ends. Several changes may be one value.
// Registries that are not versioned tell of no change.
func (e *EndpointController) Changes(ctx context.Context) <-chan struct{} {
	changes := make(chan struct{}, 1)
	if e.store != nil {
		for _, kind := range []api.Kind{api.TaskKind, api.ServiceKind} {
			go e.watch(ctx, kind, changes)
		}
	}
	return changes
}

// watch notes each change of a kind. A watcher that is cut off may have missed one.
func (e *EndpointController) watch(ctx context.Context, kind api.Kind, changes chan<- struct{}) {
	cached := e.store.Cached()
	for {
		version, err := cached.Version()
		var watcher *storage.Watcher
		if err == nil {
			watcher, err = cached.Watch(kind, version)
		}
		for err == nil {
			if _, err = watcher.Next(ctx); err == nil {
				note(changes)
			}
		}
		if api.KindOf(err) != api.Expired {
			return
		}
		note(changes)
	}
}

func note(changes chan<- struct{}) {
	select {
	case changes <- struct{}{}:
	default: // nobody has looked since the last one
	}
}

// noteSynced notes of which version of the store the endpoints are. If nobody else has
// written since, that is the version after the own writes.
func (e *EndpointController) noteSynced(version, written uint64) {
	if now, err := e.store.Cached().Version(); err == nil && now == version+written {
		version = now
	}
	e.synced = version
}

// syncService writes the endpoints of a service, unless they are known to be so
// already (D31). It tells whether it did.
func (e *EndpointController) syncService(service *api.Service, known map[string]*api.Endpoints, endpointsOf endpointsFunc) (wrote bool, err error) {
	addresses, err := endpointsOf(service.Labels)
	if err != nil {
		return false, err
	}
	if now, ok := known[service.ID]; ok && slices.Equal(now.Endpoints, addresses) {
		return false, nil
	}
	err = e.serviceRegistry.UpdateEndpoints(api.Endpoints{Name: service.ID, Endpoints: addresses})
	if api.KindOf(err) == api.NotFound { // deleted meanwhile: nothing to keep
		return false, nil
	}
	return err == nil, err
}

// endpointsFunc returns the addresses of the tasks that carry the labels and have a
// host port, sorted by the tasks' ids.
type endpointsFunc func(labels map[string]string) ([]string, error)

// servicesAndEndpoints returns the services and their stored endpoints. If the
// registry cannot list endpoints it returns none, and all are written. The store is
// asked once: what it then has cached is not older.
func (e *EndpointController) servicesAndEndpoints() (*storage.List, map[string]*api.Endpoints, error) {
	services, err := objectsOf(e.serviceRegistry).List(api.ServiceKind, nil)
	versioned, ok := e.serviceRegistry.(Versioned)
	if err != nil || !ok {
		return services, nil, err
	}
	endpoints, err := versioned.Objects().Cached().List(api.EndpointsKind, nil)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]*api.Endpoints{}
	for _, of := range endpoints.Items {
		known[of.GetID()] = of.Object.(*api.Endpoints)
	}
	return services, known, nil
}

// selectEndpoints returns how to find the endpoints of a service. The services have
// just been read: if the tasks are in the same store, what it has cached will do.
func (e *EndpointController) selectEndpoints() endpointsFunc {
	objects := objectsOf(e.taskRegistry)
	if e.store != nil {
		objects = e.store.Cached()
	}
	return func(labels map[string]string) ([]string, error) {
		tasks, err := objects.List(api.TaskKind, labels)
		if err != nil {
			return nil, err
		}
		addresses := []string{}
		for _, object := range tasks.Items {
			if address, ok := endpointOf(*object.Object.(*api.Task)); ok {
				addresses = append(addresses, address)
			}
		}
		return addresses, nil
	}
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
