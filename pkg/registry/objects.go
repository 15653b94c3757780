package registry

import (
	"fmt"
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/storage"
)

// objectsOf returns the store of a registry, which must be Versioned: the interfaces of the original do not
// require that, but all registries are.
func objectsOf(registry interface{}) storage.Interface { return registry.(Versioned).Objects() }

// getObject returns an object for an answer.
func getObject(objects storage.Reader, kind api.Kind, id string) (*storage.Object, error) {
	if err := api.ValidateID(id); err != nil {
		return nil, err
	}
	return objects.Get(api.DefaultKey(kind, id))
}

// listObjects returns the objects that the query of a list's URL selects.
func listObjects(objects storage.Reader, kind api.Kind, u *url.URL) (*storage.List, error) {
	labels, err := labelQuery(u)
	if err != nil {
		return nil, err
	}
	return objects.List(storage.InDefault(kind).With(labels))
}

// orError returns a nil interface with an error, not an interface that holds a
// nil pointer.
func orError[Object any](object *Object, err error) (interface{}, error) {
	if err != nil {
		return nil, err
	}
	return object, nil
}

// checked returns an object of Extract, and an error if it is not valid.
func checked[Object any](object interface{}, validate func(Object) error) (Object, error) {
	extracted, ok := object.(Object)
	if !ok {
		return extracted, fmt.Errorf("expected a %s, got %T", any(&extracted).(api.Object).Key().Kind, object)
	}
	return extracted, validate(extracted)
}

// labelsOf returns the labels of a query; a nil query has none.
func labelsOf(query *map[string]string) map[string]string {
	if query == nil {
		return nil
	}
	return *query
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
