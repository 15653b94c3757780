package registry

import (
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/storage"
)

// ControllerRegistryStorage is the RESTStorage of replication controllers.
type ControllerRegistryStorage struct {
	registry ControllerRegistry
	objects  storage.Interface
}

// MakeControllerRegistryStorage returns the storage of the registry's
// controllers.
func MakeControllerRegistryStorage(registry ControllerRegistry) apiserver.RESTStorage {
	return &ControllerRegistryStorage{registry: registry, objects: objectsOf(registry)}
}

// List returns a *storage.List of replication controllers.
func (s *ControllerRegistryStorage) List(u *url.URL) (interface{}, error) {
	return orError(listObjects(s.objects, api.ControllerKind, u))
}

// Get returns a *storage.Object with an *api.ReplicationController.
func (s *ControllerRegistryStorage) Get(id string) (interface{}, error) {
	return orError(getObject(s.objects, api.ControllerKind, id))
}

// Delete removes a controller.
func (s *ControllerRegistryStorage) Delete(id string) error {
	if err := api.ValidateID(id); err != nil {
		return err
	}
	return s.registry.DeleteController(id)
}

// Extract returns an api.ReplicationController.
func (s *ControllerRegistryStorage) Extract(body string) (interface{}, error) {
	var controller api.ReplicationController
	if err := v1beta1.Codec.Decode(body, &controller); err != nil {
		return nil, err
	}
	return controller, nil
}

// Create stores an api.ReplicationController.
func (s *ControllerRegistryStorage) Create(object interface{}) error {
	controller, err := checked(object, api.ValidateReplicationController)
	if err != nil {
		return err
	}
	return s.registry.CreateController(controller)
}

// Update replaces an api.ReplicationController, or creates it.
func (s *ControllerRegistryStorage) Update(object interface{}) error {
	controller, err := checked(object, api.ValidateReplicationController)
	if err != nil {
		return err
	}
	return s.registry.UpdateController(controller)
}

// DeleteAdmitted implements apiserver.AdmittedDeleter.
func (s *ControllerRegistryStorage) DeleteAdmitted(object api.Object) error {
	return deleteAdmitted(s.objects, object)
}
