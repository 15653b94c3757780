package check

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	// ComputeResources are the standard resources of containers, except huge pages.
	ComputeResources = []string{"cpu", "memory", "ephemeral-storage"}
	// countedResources have integer quantities.
	countedResources = []string{"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
		"persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
	otherResources = []string{"storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage", "requests.storage",
		"limits.cpu", "limits.memory", "limits.ephemeral-storage"}
)

// Quantity requires a quantity that is not negative, and an integer where objects are counted.
func (c *Errors) Quantity(name corev1.ResourceName, q resource.Quantity, at *field.Path) {
	c.InvalidIf(q.Sign() < 0, at, q.String(), "must be greater than or equal to 0")
	counted := slices.Contains(countedResources, string(name)) || IsExtended(name)
	c.InvalidIf(counted && q.MilliValue()%1000 != 0, at, q, "must be an integer")
}

// ResourceName requires the name of a resource, and reports whether it is one.
func (c *Errors) ResourceName(at *field.Path, name corev1.ResourceName) bool {
	if messages := utilvalidation.IsQualifiedName(string(name)); len(messages) > 0 {
		c.Each(at, name, messages)
		return false
	}
	known := slices.Concat(ComputeResources, countedResources, otherResources)
	bad := !strings.Contains(string(name), "/") && !IsHugePages(name) && !slices.Contains(known, string(name))
	c.InvalidIf(bad, at, name, "must be a standard resource type or fully qualified")
	return !bad
}

// IsHugePages reports whether a resource is memory in huge pages.
func IsHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// IsNative reports whether a resource is one of Kubernetes. Other ones have a domain.
func IsNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), "kubernetes.io/")
}

// IsExtended reports whether a resource is an extended resource that a container may request.
func IsExtended(name corev1.ResourceName) bool {
	return !IsNative(name) && !strings.HasPrefix(string(name), "requests.") && len(utilvalidation.IsQualifiedName("requests."+string(name))) == 0
}
