package registry

import (
	"sync"

	"kube2014/pkg/api"
)

// MemoryRegistry keeps tasks, controllers and services in memory: they end
// with the process. It is safe for concurrent use (D22).
type MemoryRegistry struct {
	texts  listTexts // of all tasks
	places taskPlaces

	// mu guards all that follows as one: a task and its host ports, a service
	// and its endpoints change together.
	mu          sync.RWMutex
	tasks       taskTable
	controllers table[api.ReplicationController]
	services    table[api.Service]
	endpoints   table[api.Endpoints]
}

var (
	_ TaskRegistry       = (*MemoryRegistry)(nil)
	_ HostPortIndex      = (*MemoryRegistry)(nil)
	_ EndpointSelector   = (*MemoryRegistry)(nil)
	_ TaskEncoder        = (*MemoryRegistry)(nil)
	_ ControllerRegistry = (*MemoryRegistry)(nil)
	_ ServiceRegistry    = (*MemoryRegistry)(nil)
	_ EndpointsLister    = (*MemoryRegistry)(nil)
)

// MakeMemoryRegistry returns an empty registry.
func MakeMemoryRegistry() *MemoryRegistry {
	registry := &MemoryRegistry{
		tasks:       makeTaskTable(),
		controllers: makeTable[api.ReplicationController]("replication controller"),
		services:    makeTable[api.Service]("service"),
		endpoints:   makeTable[api.Endpoints]("endpoints"),
	}
	registry.texts.sweep = func() bool { return registry.carrying(nil).sweep() }
	return registry
}

// ListControllers implements ControllerRegistry.
func (registry *MemoryRegistry) ListControllers() ([]api.ReplicationController, error) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	return registry.controllers.list(), nil
}

// GetController implements ControllerRegistry.
func (registry *MemoryRegistry) GetController(controllerID string) (*api.ReplicationController, error) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	return registry.controllers.get(controllerID)
}

// CreateController implements ControllerRegistry.
func (registry *MemoryRegistry) CreateController(controller api.ReplicationController) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.controllers.create(controller.ID, controller)
}

// UpdateController implements ControllerRegistry.
func (registry *MemoryRegistry) UpdateController(controller api.ReplicationController) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	registry.controllers.put(controller.ID, controller)
	return nil
}

// DeleteController implements ControllerRegistry.
func (registry *MemoryRegistry) DeleteController(controllerID string) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.controllers.remove(controllerID)
}

// ListServices implements ServiceRegistry.
func (registry *MemoryRegistry) ListServices() (api.ServiceList, error) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	return api.ServiceList{Items: registry.services.list()}, nil
}

// GetService implements ServiceRegistry.
func (registry *MemoryRegistry) GetService(name string) (*api.Service, error) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	return registry.services.get(name)
}

// CreateService implements ServiceRegistry.
func (registry *MemoryRegistry) CreateService(service api.Service) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.services.create(service.ID, service)
}

// UpdateService implements ServiceRegistry.
func (registry *MemoryRegistry) UpdateService(service api.Service) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	registry.services.put(service.ID, service)
	return nil
}

// DeleteService implements ServiceRegistry.
func (registry *MemoryRegistry) DeleteService(name string) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if err := registry.services.remove(name); err != nil {
		return err
	}
	if registry.endpoints.has(name) { // D14: there may be none yet
		return registry.endpoints.remove(name)
	}
	return nil
}

// UpdateEndpoints implements ServiceRegistry. A service that is gone gets no
// endpoints.
func (registry *MemoryRegistry) UpdateEndpoints(endpoints api.Endpoints) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if !registry.services.has(endpoints.Name) {
		return api.NewNotFound("service", endpoints.Name)
	}
	registry.endpoints.put(endpoints.Name, endpoints)
	return nil
}

// ListServicesAndEndpoints implements EndpointsLister.
func (registry *MemoryRegistry) ListServicesAndEndpoints() (api.ServiceList, map[string]api.Endpoints, error) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	endpoints := map[string]api.Endpoints{}
	for _, of := range registry.endpoints.list() {
		endpoints[of.Name] = of
	}
	return api.ServiceList{Items: registry.services.list()}, endpoints, nil
}
