// Package store measures what is between a server and its etcd.
package store

import (
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/metrics"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/values"
)

const rbac = "rbac.authorization.k8s.io"

// resources has what today's API calls each kind of object.
var resources = map[api.Kind]struct{ group, resource string }{
	api.TaskKind:               {"", "pods"},
	api.ControllerKind:         {"", "replicationcontrollers"},
	api.ServiceKind:            {"", "services"},
	api.EndpointsKind:          {"", "endpoints"},
	api.NodeKind:               {"", "nodes"},
	api.EventKind:              {"", "events"},
	api.RoleKind:               {rbac, "roles"},
	api.RoleBindingKind:        {rbac, "rolebindings"},
	api.ClusterRoleKind:        {rbac, "clusterroles"},
	api.ClusterRoleBindingKind: {rbac, "clusterrolebindings"},
	api.QuotaKind:              {"", "resourcequotas"},
}

// call returns what a call is for, by a key or the beginning of keys.
func call(operation, prefix, key string) metrics.StoreCall {
	c := metrics.StoreCall{Operation: operation}
	below, ok := strings.CutPrefix(key+"/", prefix)
	if !ok {
		return c
	}
	below = strings.TrimPrefix(below, "/objects") // of the v2 API
	for kind, known := range resources {
		if strings.HasPrefix(below, values.Directory(kind)+"/") {
			c.Group, c.Resource = known.group, known.resource
			return c
		}
	}
	for _, ofTasks := range []string{"/hosts/", "/_tasks/", "/hostports/"} { // manifests, index keys and host ports are a task's
		if strings.HasPrefix(below, ofTasks) {
			c.Resource = "pods"
		}
	}
	return c
}

// Cached returns what the cache of a store has, nothing while nobody knows which store it is.
func Cached(of storage.Interface) func() []metrics.Stored {
	return func() (all []metrics.Stored) {
		for kind, known := range resources {
			list, err := of.Cached().List(storage.Selection{Kind: kind})
			if err != nil {
				return nil
			}
			all = append(all, metrics.Stored{Group: known.group, Resource: known.resource, Objects: len(list.Items), Version: list.Version})
		}
		return all
	}
}
