package registry

import "kube2014/pkg/api"

const serviceKind = api.ServiceKind

// ListServices implements ServiceRegistry.
func (registry *EtcdRegistry) ListServices() (api.ServiceList, error) {
	directory, _, err := registry.readDirectory("list services", specsKey)
	if err != nil {
		return api.ServiceList{}, err
	}
	return api.ServiceList{Items: decodeAll[api.Service](registry, serviceKind, directory)}, nil
}

// GetService implements ServiceRegistry.
func (registry *EtcdRegistry) GetService(name string) (*api.Service, error) {
	return readObject[api.Service](registry, serviceKind, specKey(name))
}

// CreateService implements ServiceRegistry.
func (registry *EtcdRegistry) CreateService(service api.Service) error {
	return registry.createObject(serviceKind, specKey(service.ID), service)
}

// UpdateService implements ServiceRegistry.
func (registry *EtcdRegistry) UpdateService(service api.Service) error {
	return registry.putObject(serviceKind, specKey(service.ID), service)
}

// DeleteService implements ServiceRegistry. If etcd fails between the two
// deletes, Reconcile deletes the orphaned endpoints. If another program has put
// something else in their place, that stays.
func (registry *EtcdRegistry) DeleteService(name string) error {
	if err := registry.deleteObject(serviceKind, specKey(name)); err != nil {
		return err
	}
	_, err := registry.mirror.Delete(endpointKey(name), false)
	return failed("delete endpoints", ignore(err, notFound, notAFile, notADirectory)) // D14: there may be none yet
}

// UpdateEndpoints implements ServiceRegistry. It does not look for the service.
func (registry *EtcdRegistry) UpdateEndpoints(endpoints api.Endpoints) error {
	return registry.setObject(api.EndpointsKind, endpointKey(endpoints.Name), endpoints)
}

// ListServicesAndEndpoints implements EndpointsLister with one read.
func (registry *EtcdRegistry) ListServicesAndEndpoints() (api.ServiceList, map[string]api.Endpoints, error) {
	directory, _, err := registry.readDirectory("list services", servicesKey)
	if err != nil {
		return api.ServiceList{}, nil, err
	}
	services := decodeAll[api.Service](registry, serviceKind, child(directory, baseName(specsKey)))
	endpoints := map[string]api.Endpoints{}
	for _, of := range decodeAll[api.Endpoints](registry, api.EndpointsKind, child(directory, baseName(endpointsKey))) {
		endpoints[of.Name] = of
	}
	return api.ServiceList{Items: services}, endpoints, nil
}
