package registry

import (
	"net/url"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/storage"
)

// objectsOf returns the store of a registry, which must be Versioned: the interfaces of the original do not
// require that, but all registries are.
func objectsOf(registry interface{}) storage.Interface { return registry.(Versioned).Objects() }

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
