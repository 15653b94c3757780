package registry

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// EndpointController keeps the endpoints of all services up to date with the
// tasks that they select.
type EndpointController struct {
	serviceRegistry ServiceRegistry
	taskRegistry    TaskRegistry
}

// MakeEndpointController returns a controller over the two registries.
func MakeEndpointController(serviceRegistry ServiceRegistry, taskRegistry TaskRegistry) *EndpointController {
	return &EndpointController{serviceRegistry: serviceRegistry, taskRegistry: taskRegistry}
}

// SyncServiceEndpoints computes the endpoints of every service and writes those
// that changed. A service that fails does not stop the others: the error joins
// all failures.
func (e *EndpointController) SyncServiceEndpoints() error {
	services, known, err := e.servicesAndEndpoints()
	if err != nil {
		return fmt.Errorf("endpoint sync: %w", err)
	}
	endpointsOf := e.selectEndpoints()
	var failures []error
	for _, service := range services.Items {
		if err := e.syncService(service, known, endpointsOf); err != nil {
			failures = append(failures, fmt.Errorf("endpoint sync: service %s: %w", service.ID, err))
		}
	}
	return errors.Join(failures...)
}

// syncService writes the endpoints of a service, unless they are known to be so
// already (D31).
func (e *EndpointController) syncService(service api.Service, known map[string]api.Endpoints, endpointsOf endpointsFunc) error {
	addresses, err := endpointsOf(service.Labels)
	if err != nil {
		return err
	}
	if now, ok := known[service.ID]; ok && slices.Equal(now.Endpoints, addresses) {
		return nil
	}
	err = e.serviceRegistry.UpdateEndpoints(api.Endpoints{Name: service.ID, Endpoints: addresses})
	if api.KindOf(err) == api.NotFound { // deleted meanwhile: nothing to keep
		return nil
	}
	return err
}

// endpointsFunc returns the addresses of the tasks that carry the labels and have a
// host port, sorted by the tasks' ids.
type endpointsFunc func(labels map[string]string) ([]string, error)

// servicesAndEndpoints returns the services and their stored endpoints. If the
// registry cannot list endpoints it returns none, and all are written.
func (e *EndpointController) servicesAndEndpoints() (api.ServiceList, map[string]api.Endpoints, error) {
	if versioned, ok := e.serviceRegistry.(Versioned); ok {
		return readEndpoints(versioned.Objects())
	}
	services, err := e.serviceRegistry.ListServices()
	return services, nil, err
}

// readEndpoints asks the store once: what it then has cached is not older.
func readEndpoints(store storage.Interface) (services api.ServiceList, known map[string]api.Endpoints, err error) {
	all, err := store.List(api.ServiceKind, nil)
	if err != nil {
		return services, nil, err
	}
	endpoints, err := store.Cached().List(api.EndpointsKind, nil)
	if err != nil {
		return services, nil, err
	}
	for _, service := range all.Items {
		services.Items = append(services.Items, *service.Object.(*api.Service))
	}
	known = map[string]api.Endpoints{}
	for _, of := range endpoints.Items {
		known[of.GetID()] = *of.Object.(*api.Endpoints)
	}
	return services, known, nil
}

// selectEndpoints returns how to find the endpoints of a service. The services have
// just been read: if the tasks are in the same store, what it has cached will do.
func (e *EndpointController) selectEndpoints() endpointsFunc {
	objects := objectsOf(e.taskRegistry)
	tasks, tasksVersioned := e.taskRegistry.(Versioned)
	services, servicesVersioned := e.serviceRegistry.(Versioned)
	if tasksVersioned && servicesVersioned && tasks.Objects() == services.Objects() {
		objects = tasks.Objects().Cached()
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
