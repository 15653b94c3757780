package registry

import (
	"net/url"
	"strconv"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/storage"
)

// ServiceRegistryStorage is the RESTStorage of services.
type ServiceRegistryStorage struct {
	registry ServiceRegistry
	objects  storage.Interface
}

// MakeServiceRegistryStorage returns the storage of the registry's services.
func MakeServiceRegistryStorage(registry ServiceRegistry) apiserver.RESTStorage {
	return &ServiceRegistryStorage{registry: registry, objects: objectsOf(registry)}
}

// GetServiceEnvironmentVariables returns the environment variables with which a
// container on the machine finds the services: the port of each one, sorted by
// its id, and the machine itself as their host.
func GetServiceEnvironmentVariables(registry ServiceRegistry, machine string) ([]api.EnvVar, error) {
	services, err := registry.ListServices()
	if err != nil {
		return nil, err
	}
	var env []api.EnvVar
	for _, service := range services.Items {
		name := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(service.ID)) // D25
		env = append(env, api.EnvVar{Name: name + "_SERVICE_PORT", Value: strconv.Itoa(service.Port)})
	}
	return append(env, api.EnvVar{Name: "SERVICE_HOST", Value: machine}), nil
}

// List returns a *storage.List of services.
func (s *ServiceRegistryStorage) List(u *url.URL) (interface{}, error) {
	return orError(listObjects(s.objects, api.ServiceKind, u))
}

// Get returns a *storage.Object with an *api.Service.
func (s *ServiceRegistryStorage) Get(id string) (interface{}, error) {
	return orError(getObject(s.objects, api.ServiceKind, id))
}

// Delete removes a service and its endpoints.
func (s *ServiceRegistryStorage) Delete(id string) error {
	if err := api.ValidateID(id); err != nil {
		return err
	}
	return s.registry.DeleteService(id)
}

// Extract returns an api.Service.
func (s *ServiceRegistryStorage) Extract(body string) (interface{}, error) {
	var service api.Service
	if err := v1beta1.Codec.Decode(body, &service); err != nil {
		return nil, err
	}
	return service, nil
}

// Create stores an api.Service.
func (s *ServiceRegistryStorage) Create(object interface{}) error {
	service, err := checked(object, api.ValidateService)
	if err != nil {
		return err
	}
	return s.registry.CreateService(service)
}

// Update replaces an api.Service, or creates it.
func (s *ServiceRegistryStorage) Update(object interface{}) error {
	service, err := checked(object, api.ValidateService)
	if err != nil {
		return err
	}
	return s.registry.UpdateService(service)
}

// DeleteAdmitted implements apiserver.AdmittedDeleter.
func (s *ServiceRegistryStorage) DeleteAdmitted(object api.Object) error {
	return deleteAdmitted(s.objects, object)
}
