// Package storemetrics measures the calls of a server to its etcd.
package storemetrics

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	"kube2014/pkg/metrics"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/values"
)

// Observer measures the calls to a store. It names kinds by their resources in catalogs.
type Observer struct {
	Metrics  *metrics.Metrics
	Catalogs rest.Catalogs
}

// call describes a call with a key below a prefix.
func (o Observer) call(operation, prefix, key string) metrics.StoreCall {
	c := metrics.StoreCall{Operation: operation}
	path, ok := strings.CutPrefix(key+"/", prefix)
	if !ok {
		return c
	}
	path = strings.TrimPrefix(path, "/objects")                              // of the v2 API
	for _, ofTasks := range []string{"/hosts/", "/_tasks/", "/hostports/"} { // manifests, index keys and host ports are a task's
		if strings.HasPrefix(path, ofTasks) {
			c.Resource = "pods"
			return c
		}
	}
	resource := o.resource(values.KindAt(path))
	c.Group, c.Resource = resource.Group, resource.Resource
	return c
}

// resource returns the resource of a kind, or the kind itself if it is not served.
func (o Observer) resource(kind api.Kind) schema.GroupResource {
	if row := o.Catalogs.ByStoredKind(kind); row != nil {
		return row.GroupResource()
	}
	return schema.ParseGroupResource(string(kind))
}

// Cached returns a function that counts the objects in the cache of a store.
func (o Observer) Cached(of storage.Interface) func() []metrics.Stored {
	return func() (all []metrics.Stored) {
		for row := range o.Catalogs.StoredRows() {
			list, err := of.Cached().List(storage.Selection{Kind: row.StoredKind})
			if err != nil {
				return nil
			}
			all = append(all, metrics.Stored{Group: row.GroupVersion.Group, Resource: row.Name, Objects: len(list.Items), Version: list.Version})
		}
		return all
	}
}
