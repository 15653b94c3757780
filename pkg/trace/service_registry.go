package trace

import (
	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

// ServiceRegistry traces a service registry.
func (t *Tracer) ServiceRegistry(next registry.ServiceRegistry) registry.ServiceRegistry {
	return serviceRegistry{t, next}
}

type serviceRegistry struct {
	t    *Tracer
	next registry.ServiceRegistry
}

// Objects implements registry.Versioned.
func (r serviceRegistry) Objects() storage.Interface { return r.next.(registry.Versioned).Objects() }

func (r serviceRegistry) ListServices() (api.ServiceList, error) {
	return ask(r.t, called(r.next, "ListServices"), func(services api.ServiceList) string { return words(services) }, r.next.ListServices)
}

func (r serviceRegistry) GetService(name string) (*api.Service, error) {
	return ask(r.t, called(r.next, "GetService", api.Quote(name)), func(service *api.Service) string { return words(service) },
		func() (*api.Service, error) { return r.next.GetService(name) })
}

func (r serviceRegistry) CreateService(service api.Service) error {
	return r.t.write(called(r.next, "CreateService", words(service)), func() error { return r.next.CreateService(service) })
}

func (r serviceRegistry) UpdateService(service api.Service) error {
	return r.t.write(called(r.next, "UpdateService", words(service)), func() error { return r.next.UpdateService(service) })
}

func (r serviceRegistry) DeleteService(name string) error {
	return r.t.write(called(r.next, "DeleteService", api.Quote(name)), func() error { return r.next.DeleteService(name) })
}

func (r serviceRegistry) UpdateEndpoints(endpoints api.Endpoints) error {
	return r.t.write(called(r.next, "UpdateEndpoints", words(endpoints)), func() error { return r.next.UpdateEndpoints(endpoints) })
}
