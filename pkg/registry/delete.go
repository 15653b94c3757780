package registry

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// deletionOf returns what deletes an object of an expected version: of a service, its endpoints too.
func deletionOf(kind api.Kind, id string, expected uint64) []storage.Change {
	changes := []storage.Change{storage.Delete(kind, id, expected)}
	if kind == api.ServiceKind {
		changes = append(changes, storage.Delete(api.EndpointsKind, id, storage.Any))
	}
	return changes
}

// deleteAdmitted deletes an object if it still is as it was when admission decided about it.
func deleteAdmitted(objects storage.Interface, object api.Object) error {
	kind, id := object.GetKind(), object.GetID()
	_, err := objects.Commit(deletionOf(kind, id, object.Meta().ResourceVersion)...)
	if api.KindOf(err) == api.Conflict {
		return api.NewOutdated(kind, id)
	}
	return err
}

// DeleteAdmitted implements apiserver.AdmittedDeleter.
func (s *TaskRegistryStorage) DeleteAdmitted(object api.Object) error {
	return deleteAdmitted(s.objects, object)
}

// DeleteAdmitted implements apiserver.AdmittedDeleter.
func (s *ControllerRegistryStorage) DeleteAdmitted(object api.Object) error {
	return deleteAdmitted(s.objects, object)
}

// DeleteAdmitted implements apiserver.AdmittedDeleter.
func (s *ServiceRegistryStorage) DeleteAdmitted(object api.Object) error {
	return deleteAdmitted(s.objects, object)
}
