package registry

import (
	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
)

// ControllerRegistryStorage is the RESTStorage of replication controllers.
type ControllerRegistryStorage struct {
	restStorage[api.ReplicationController]
}

// MakeControllerRegistryStorage returns the storage of the registry's
// controllers.
func MakeControllerRegistryStorage(registry ControllerRegistry) apiserver.RESTStorage {
	return &ControllerRegistryStorage{restStorage[api.ReplicationController]{kind: api.ControllerKind, objects: objectsOf(registry),
		validate: api.ValidateReplicationController, create: registry.CreateController, update: registry.UpdateController,
		remove: registry.DeleteController}}
}
