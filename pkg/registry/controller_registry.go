package registry

import (
	"fmt"
	"net/url"
	"slices"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/apiserver"
)

// ControllerRegistryStorage is the RESTStorage of replication controllers.
type ControllerRegistryStorage struct {
	registry ControllerRegistry
}

// MakeControllerRegistryStorage returns the storage of the registry's
// controllers.
func MakeControllerRegistryStorage(registry ControllerRegistry) apiserver.RESTStorage {
	return &ControllerRegistryStorage{registry: registry}
}

// List returns an api.ReplicationControllerList.
func (storage *ControllerRegistryStorage) List(u *url.URL) (interface{}, error) {
	query, err := labelQuery(u)
	if err != nil {
		return nil, err
	}
	controllers, err := storage.registry.ListControllers()
	if err != nil {
		return nil, err
	}
	controllers = slices.DeleteFunc(controllers, func(c api.ReplicationController) bool { return !hasLabels(c.Labels, query) })
	return api.ReplicationControllerList{Items: controllers}, nil
}

// Get returns an *api.ReplicationController.
func (storage *ControllerRegistryStorage) Get(id string) (interface{}, error) {
	if err := api.ValidateID(id); err != nil {
		return nil, err
	}
	return orError(storage.registry.GetController(id))
}

// Delete removes a controller.
func (storage *ControllerRegistryStorage) Delete(id string) error {
	if err := api.ValidateID(id); err != nil {
		return err
	}
	return storage.registry.DeleteController(id)
}

// Extract returns an api.ReplicationController.
func (storage *ControllerRegistryStorage) Extract(body string) (interface{}, error) {
	var controller api.ReplicationController
	if err := v1beta1.Codec.Decode(body, &controller); err != nil {
		return nil, err
	}
	return controller, nil
}

// Create stores an api.ReplicationController.
func (storage *ControllerRegistryStorage) Create(object interface{}) error {
	controller, err := controllerOf(object)
	if err != nil {
		return err
	}
	return storage.registry.CreateController(controller)
}

// Update replaces an api.ReplicationController, or creates it.
func (storage *ControllerRegistryStorage) Update(object interface{}) error {
	controller, err := controllerOf(object)
	if err != nil {
		return err
	}
	return storage.registry.UpdateController(controller)
}

func controllerOf(object interface{}) (api.ReplicationController, error) {
	controller, ok := object.(api.ReplicationController)
	if !ok {
		return controller, fmt.Errorf("expected a replication controller, got %T", object)
	}
	return controller, api.ValidateReplicationController(controller)
}

// orError returns a nil interface with an error, not an interface that holds a
// nil pointer.
func orError[Object any](object *Object, err error) (interface{}, error) {
	if err != nil {
		return nil, err
	}
	return object, nil
}
