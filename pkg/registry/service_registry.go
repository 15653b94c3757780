package registry

import (
	"strconv"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
)

// ServiceRegistryStorage is the RESTStorage of services.
type ServiceRegistryStorage struct {
	restStorage[api.Service]
}

// MakeServiceRegistryStorage returns the storage of the registry's services.
func MakeServiceRegistryStorage(registry ServiceRegistry) apiserver.RESTStorage {
	return &ServiceRegistryStorage{restStorage[api.Service]{kind: api.ServiceKind, objects: objectsOf(registry),
		validate: api.ValidateService, create: registry.CreateService, update: registry.UpdateService, remove: registry.DeleteService}}
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
