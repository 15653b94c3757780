package registry

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"kube2014/pkg/api"
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
	endpointsOf, err := e.selectEndpoints()
	if err != nil {
		return fmt.Errorf("endpoint sync: %w", err)
	}
	var failures []error
	for _, wanted := range changedEndpoints(services.Items, endpointsOf, known) {
		err := e.serviceRegistry.UpdateEndpoints(wanted)
		if err != nil && api.KindOf(err) != api.NotFound { // deleted meanwhile: nothing to keep
			failures = append(failures, fmt.Errorf("endpoint sync: service %s: %w", wanted.Name, err))
		}
	}
	return errors.Join(failures...)
}

// servicesAndEndpoints returns the services and their stored endpoints. If the
// registry cannot list endpoints it returns none, and all are written.
func (e *EndpointController) servicesAndEndpoints() (api.ServiceList, map[string]api.Endpoints, error) {
	if lister, ok := e.serviceRegistry.(EndpointsLister); ok {
		return lister.ListServicesAndEndpoints()
	}
	services, err := e.serviceRegistry.ListServices()
	return services, nil, err
}

// selectEndpoints returns the registry's EndpointSelector function, or else one
// that searches a list of all tasks.
func (e *EndpointController) selectEndpoints() (func(map[string]string) []string, error) {
	if selector, ok := e.taskRegistry.(EndpointSelector); ok {
		return selector.SelectEndpoints()
	}
	tasks, err := e.taskRegistry.ListTasks(nil)
	if err != nil {
		return nil, err
	}
	return func(query map[string]string) []string {
		addresses := []string{}
		for _, task := range tasks {
			if address, ok := endpointOf(task); ok && hasLabels(task.Labels, query) {
				addresses = append(addresses, address)
			}
		}
		return addresses
	}, nil
}

// changedEndpoints returns the endpoints that differ from the known ones (D31).
func changedEndpoints(services []api.Service, endpointsOf func(map[string]string) []string, known map[string]api.Endpoints) []api.Endpoints {
	var changed []api.Endpoints
	for _, service := range services {
		addresses := endpointsOf(service.Labels)
		if now, ok := known[service.ID]; !ok || !slices.Equal(now.Endpoints, addresses) {
			changed = append(changed, api.Endpoints{Name: service.ID, Endpoints: addresses})
		}
	}
	return changed
}

// endpointOf returns the task's machine and the first of its host ports (D38). A
// task without one is no endpoint (D20).
func endpointOf(task api.Task) (string, bool) {
	ports := hostPorts(task)
	if len(ports) == 0 || task.CurrentState.Host == "" {
		return "", false
	}
	return net.JoinHostPort(task.CurrentState.Host, strconv.Itoa(ports[0])), true
}
