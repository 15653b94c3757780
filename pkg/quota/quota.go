// Package quota measures what objects use of the quotas of their namespace, for the plugin that keeps a quota and for
// the controller that counts again. Its functions change nothing and are safe for concurrent use.
package quota

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
)

// The kinds in the store of quotas and of limit ranges.
const (
	Kind       api.Kind = "resourcequotas"
	LimitsKind api.Kind = "limitranges"
)

// Reservations returns the key of the reservations of a quota, which end with it. No API serves them.
func Reservations(quota api.Key) api.Key {
	return api.Key{Kind: "resourcequotareservations", Namespace: quota.Namespace, ID: quota.ID}
}

var (
	pods     = corev1.Resource("pods")
	services = corev1.Resource("services")
	claims   = corev1.Resource("persistentvolumeclaims")
)

// counted are the resources of the core group that a quota counts without a prefix.
var counted = []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceServices, corev1.ResourceReplicationControllers, corev1.ResourceQuotas,
	corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims}

const countPrefix = "count/"

// Ignores reports whether quotas do not count a resource: events never were.
func Ignores(resource schema.GroupResource) bool { return resource.Resource == "events" }

// ResourceOf returns the resource whose objects use a name of a quota. It is empty for a name that nothing uses.
func ResourceOf(name corev1.ResourceName) schema.GroupResource {
	switch resource, isCount := strings.CutPrefix(string(name), countPrefix); {
	case isCount:
		return schema.ParseGroupResource(resource)
	case slices.Contains(counted, name):
		return corev1.Resource(string(name))
	case name == corev1.ResourceServicesNodePorts, name == corev1.ResourceServicesLoadBalancers:
		return services
	case name == corev1.ResourceRequestsStorage, isOfClass(name):
		return claims
	case isOfPods(name):
		return pods
	}
	return schema.GroupResource{}
}

// ofClass is between the name of a class of storage and that of what claims use of it.
const ofClass = ".storageclass.storage.k8s.io/"

func isOfClass(name corev1.ResourceName) bool {
	_, used, _ := strings.Cut(string(name), ofClass)
	return used == string(corev1.ResourceRequestsStorage) || used == string(corev1.ResourcePersistentVolumeClaims)
}

// isOfPods reports whether pods use a name, which counts no objects.
func isOfPods(name corev1.ResourceName) bool {
	request, isRequest := strings.CutPrefix(string(name), "requests.")
	compute := strings.TrimPrefix(request, "limits.")
	switch {
	case isRequest && (strings.Contains(request, "/") || strings.HasPrefix(request, corev1.ResourceHugePagesPrefix)):
		return true
	case compute == "cpu", compute == "memory", compute == "ephemeral-storage":
		return true
	}
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// Names returns the names in the limits of a quota that the objects of a resource use, sorted.
func Names(quota *corev1.ResourceQuota, resource schema.GroupResource) (names []corev1.ResourceName) {
	if Ignores(resource) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
		if ResourceOf(name) == resource {
			names = append(names, name)
		}
	}
	return names
}

// Covers reports whether an object of a resource counts for a quota.
func Covers(quota *corev1.ResourceQuota, resource schema.GroupResource, object runtime.Object) bool {
	if len(Names(quota, resource)) == 0 {
		return false
	}
	pod, _ := object.(*corev1.Pod)
	for _, scope := range scopesOf(quota) {
		if pod == nil || !isIn(pod, scope) {
			return false
		}
	}
	return true
}

// Counts reports whether all objects of a resource use the same of a quota, whatever is in them.
func Counts(quota *corev1.ResourceQuota, resource schema.GroupResource) bool {
	return resource != pods && resource != services && resource != claims && len(scopesOf(quota)) == 0
}
