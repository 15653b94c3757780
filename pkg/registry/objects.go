package registry

import (
	"fmt"
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// reader is the part of a storage.Reader that a RESTStorage needs.
type reader interface {
	Get(kind api.Kind, id string) (*storage.Object, error)
	List(kind api.Kind, labels map[string]string) (*storage.List, error)
}

// objectsOf returns a reader of a registry's objects.
func objectsOf(registry interface{}) reader {
	if versioned, ok := registry.(Versioned); ok {
		return versioned.Objects()
	}
	return unversioned{registry}
}

// getObject returns an object for an answer.
func getObject(objects reader, kind api.Kind, id string) (*storage.Object, error) {
	if err := api.ValidateID(id); err != nil {
		return nil, err
	}
	return objects.Get(kind, id)
}

// listObjects returns the objects for which a list's URL asks.
func listObjects(objects reader, kind api.Kind, u *url.URL) (*storage.List, error) {
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

// unversioned reads the objects of a registry through the interfaces of the
// original. They have no versions.
type unversioned struct{ registry interface{} }

func (u unversioned) Get(kind api.Kind, id string) (*storage.Object, error) {
	switch kind {
	case api.TaskKind:
		return wrap(u.registry.(TaskRegistry).GetTask(id))
	case api.ControllerKind:
		return wrap(u.registry.(ControllerRegistry).GetController(id))
	default:
		return wrap(u.registry.(ServiceRegistry).GetService(id))
	}
}

func (u unversioned) List(kind api.Kind, labels map[string]string) (*storage.List, error) {
	switch kind {
	case api.TaskKind:
		tasks, err := u.registry.(TaskRegistry).ListTasks(&labels)
		return wrapAll(kind, labels, tasks, err)
	case api.ControllerKind:
		controllers, err := u.registry.(ControllerRegistry).ListControllers()
		return wrapAll(kind, labels, controllers, err)
	default:
		services, err := u.registry.(ServiceRegistry).ListServices()
		return wrapAll(kind, labels, services.Items, err)
	}
}

func wrap(object api.Object, err error) (*storage.Object, error) {
	if err != nil {
		return nil, err
	}
	return storage.NewObject(object, 0, 0), nil
}

func wrapAll[T any](kind api.Kind, labels map[string]string, objects []T, err error) (*storage.List, error) {
	if err != nil {
		return nil, err
	}
	list := &storage.List{Kind: kind}
	for i := range objects {
		object := interface{}(&objects[i]).(api.Object)
		if storage.Carries(object.GetLabels(), labels) {
			list.Items = append(list.Items, storage.NewObject(object, 0, 0))
		}
	}
	return list, nil
}
