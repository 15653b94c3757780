package registry

import (
	"fmt"
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/client"
	"kube2014/pkg/storage"
)

// resource is what the RESTStorages of all kinds have in common. Object is a struct of package api.
type resource[Object any] struct {
	kind           api.Kind
	objects        storage.Interface
	validate       func(Object) error
	create, update func(Object) error
	remove         func(id string) error
}

// List returns a *storage.List of the objects that the URL selects.
func (r *resource[Object]) List(u *url.URL) (interface{}, error) {
	labels, err := labelQuery(u)
	if err != nil {
		return nil, err
	}
	return orError(r.objects.List(storage.InDefault(r.kind).With(labels)))
}

// Get returns a *storage.Object.
func (r *resource[Object]) Get(id string) (interface{}, error) { return orError(r.get(id)) }

func (r *resource[Object]) get(id string) (*storage.Object, error) {
	if err := api.ValidateID(id); err != nil {
		return nil, err
	}
	return r.objects.Get(api.DefaultKey(r.kind, id))
}

// Delete removes an object, and what belongs to it.
func (r *resource[Object]) Delete(id string) error {
	if err := api.ValidateID(id); err != nil {
		return err
	}
	return r.remove(id)
}

// Extract returns an Object.
func (r *resource[Object]) Extract(body string) (interface{}, error) {
	var object Object
	if err := v1beta1.Codec.Decode(body, &object); err != nil {
		return nil, err
	}
	return object, nil
}

// Create stores an Object.
func (r *resource[Object]) Create(object interface{}) error {
	valid, err := r.checked(object)
	if err != nil {
		return err
	}
	return r.create(valid)
}

// Update replaces an Object.
func (r *resource[Object]) Update(object interface{}) error {
	valid, err := r.checked(object)
	if err != nil {
		return err
	}
	return r.update(valid)
}

// checked returns an object that Extract has returned, if it is valid.
func (r *resource[Object]) checked(object interface{}) (Object, error) {
	extracted, ok := object.(Object)
	if !ok {
		return extracted, fmt.Errorf("expected a %s, got %T", r.kind, object)
	}
	return extracted, r.validate(extracted)
}

// DeleteAdmitted implements apiserver.AdmittedDeleter.
func (r *resource[Object]) DeleteAdmitted(object api.Object) error {
	key, version := object.Key(), object.Meta().ResourceVersion
	changes := []storage.Change{storage.Delete(key, version)}
	if key.Kind == api.ServiceKind {
		changes = storage.DeleteService(key, version)
	}
	_, err := r.objects.Commit(changes...)
	if api.KindOf(err) == api.Conflict {
		return api.NewOutdated(key)
	}
	return err
}

// orError returns a nil interface with an error, not an interface that holds a
// nil pointer.
func orError[Object any](object *Object, err error) (interface{}, error) {
	if err != nil {
		return nil, err
	}
	return object, nil
}

// labelQuery decodes the labels parameter of a list's URL. A malformed query is
// an error: it must not match everything (D5).
func labelQuery(u *url.URL) (map[string]string, error) {
	if u == nil {
		return nil, nil
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, api.NewInvalid("query", "%s", err)
	}
	switch given := values["labels"]; len(given) {
	case 0:
		return nil, nil
	case 1:
		return client.DecodeLabelQuery(given[0])
	default:
		return nil, api.NewInvalid("labels", "is given %d times; give it once, with commas between the pairs", len(given))
	}
}
