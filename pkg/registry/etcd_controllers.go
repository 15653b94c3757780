package registry

import "kube2014/pkg/api"

const controllerKind = api.ControllerKind

// ListControllers implements ControllerRegistry.
func (registry *EtcdRegistry) ListControllers() ([]api.ReplicationController, error) {
	directory, _, err := registry.readDirectory("list replication controllers", controllersKey)
	if err != nil {
		return nil, err
	}
	return decodeAll[api.ReplicationController](registry, controllerKind, directory), nil
}

// GetController implements ControllerRegistry.
func (registry *EtcdRegistry) GetController(controllerID string) (*api.ReplicationController, error) {
	return readObject[api.ReplicationController](registry, controllerKind, controllerKey(controllerID))
}

// CreateController implements ControllerRegistry.
func (registry *EtcdRegistry) CreateController(controller api.ReplicationController) error {
	return registry.createObject(controllerKind, controllerKey(controller.ID), controller)
}

// UpdateController implements ControllerRegistry.
func (registry *EtcdRegistry) UpdateController(controller api.ReplicationController) error {
	return registry.putObject(controllerKind, controllerKey(controller.ID), controller)
}

// DeleteController implements ControllerRegistry.
func (registry *EtcdRegistry) DeleteController(controllerID string) error {
	return registry.deleteObject(controllerKind, controllerKey(controllerID))
}
