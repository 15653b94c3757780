package registry

import (
	"fmt"
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// objectsOf returns the objects of a registry, which has to be Versioned: the interfaces of the original
// do not say so, but all registries are.
func objectsOf(registry interface{}) storage.Interface { return registry.(Versioned).Objects() }

// getObject returns an object for an answer.
func getObject(objects storage.Reader, kind api.Kind, id string) (*storage.Object, error) {
	if err := api.ValidateID(id); err != nil {
		return nil, err
	}
	return objects.Get(kind, id)
}

// listObjects returns the objects for which a list's URL asks.
func listObjects(objects storage.Reader, kind api.Kind, u *url.URL) (*storage.List, error) {
	labels, err := labelQuery(u)
	if err != nil {
		return nil, err
	}
	return objects.List(kind, labels)
}

// orError returns a nil interface with an error, not an interface that holds a
// nil pointer.
func orError[Object any](object *Object, err error) (interface{}, error) {
	if err != nil {
		return nil, err
	}
	return object, nil
}

// checked returns an object that Extract has returned, if it is valid.
func checked[Object interface{ GetKind() api.Kind }](object interface{}, validate func(Object) error) (Object, error) {
	extracted, ok := object.(Object)
	if !ok {
		return extracted, fmt.Errorf("expected a %s, got %T", extracted.GetKind(), object)
	}
	return extracted, validate(extracted)
}
