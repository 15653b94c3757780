package registry

import (
	"fmt"
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/storage"
)

// restStorage is an apiserver.RESTStorage of the objects of a kind, over the methods of their registry.
type restStorage[Object any] struct {
	kind           api.Kind
	objects        storage.Interface
	validate       func(Object) error
	create, update func(Object) error
	remove         func(id string) error
}

// List returns a *storage.List of objects.
func (s *restStorage[Object]) List(u *url.URL) (interface{}, error) {
	labels, err := labelQuery(u)
	if err != nil {
		return nil, err
	}
	list, err := s.objects.List(storage.InDefault(s.kind).With(labels))
	if err != nil {
		return nil, err // not an interface that holds a nil pointer
	}
	return list, nil
}

// Get returns a *storage.Object with a pointer to an object.
func (s *restStorage[Object]) Get(id string) (interface{}, error) {
	object, err := s.get(id)
	if err != nil {
		return nil, err
	}
	return object, nil
}

func (s *restStorage[Object]) get(id string) (*storage.Object, error) {
	if err := api.ValidateID(id); err != nil {
		return nil, err
	}
	return s.objects.Get(api.DefaultKey(s.kind, id))
}

// Delete removes an object.
func (s *restStorage[Object]) Delete(id string) error {
	if err := api.ValidateID(id); err != nil {
		return err
	}
	return s.remove(id)
}

// Extract returns an object.
func (s *restStorage[Object]) Extract(body string) (interface{}, error) {
	var object Object
	if err := v1beta1.Codec.Decode(body, &object); err != nil {
		return nil, err
	}
	return object, nil
}

// Create stores an object of Extract.
func (s *restStorage[Object]) Create(object interface{}) error { return s.apply(s.create, object) }

// Update replaces an object by one of Extract. It creates a controller or a service that is missing.
func (s *restStorage[Object]) Update(object interface{}) error { return s.apply(s.update, object) }

func (s *restStorage[Object]) apply(change func(Object) error, object interface{}) error {
	extracted, err := s.checked(object)
	if err != nil {
		return err
	}
	return change(extracted)
}

// checked returns an object of Extract, and an error if it is not valid.
func (s *restStorage[Object]) checked(object interface{}) (Object, error) {
	extracted, ok := object.(Object)
	if !ok {
		return extracted, fmt.Errorf("expected a %s, got %T", s.kind, object)
	}
	return extracted, s.validate(extracted)
}

// DeleteAdmitted implements apiserver.AdmittedDeleter: it deletes an object if it still is as it was when admission decided about
// it.
func (s *restStorage[Object]) DeleteAdmitted(object api.Object) error {
	key, version := object.Key(), object.Meta().ResourceVersion
	changes := []storage.Change{storage.Delete(key, version)}
	if key.Kind == api.ServiceKind {
		changes = storage.DeleteService(key, version)
	}
	_, err := s.objects.Commit(changes...)
	if api.KindOf(err) == api.Conflict {
		return api.NewOutdated(key)
	}
	return err
}
