package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	computeResources = []string{"cpu", "memory", "ephemeral-storage"}
	// countedResources come in whole numbers.
	countedResources = []string{"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
		"persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
	otherResources = []string{"storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage", "requests.storage",
		"limits.cpu", "limits.memory", "limits.ephemeral-storage"}
)

// resources checks limits and requests, each by its name and its quantity, and the claims.
func (c *checks) resources(r *corev1.ResourceRequirements, name func(*field.Path, corev1.ResourceName), claims map[string]bool, at *field.Path) {
	limits, requests := at.Child("limits"), at.Child("requests")
	compute, hugePages := false, false
	one := func(n corev1.ResourceName, q resource.Quantity, at *field.Path) {
		name(at, n)
		c.quantity(n, q, at)
		compute = compute || n == corev1.ResourceCPU || n == corev1.ResourceMemory
	}
	pages := func(n corev1.ResourceName, q resource.Quantity, at *field.Path) {
		if isHugePages(n) {
			hugePages = true
			c.invalidIf(!wholePages(n, q), at, q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), n))
		}
	}
	for _, n := range sortedKeys(r.Limits) {
		one(n, r.Limits[n], limits.Key(string(n)))
		pages(n, r.Limits[n], limits.Key(string(n)))
	}
	for _, n := range sortedKeys(r.Requests) {
		request := r.Requests[n]
		one(n, request, requests.Key(string(n)))
		overcommit := isNative(n) && !isHugePages(n)
		switch limit, limited := r.Limits[n]; {
		case !limited && !overcommit:
			c.add(field.Required(limits, "Limit must be set for non overcommitable resources"))
		case limited && !overcommit && request.Cmp(limit) != 0:
			c.add(field.Invalid(requests, request.String(), fmt.Sprintf("must be equal to %s limit of %s", n, limit.String())))
		case limited && request.Cmp(limit) > 0:
			c.add(field.Invalid(requests, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", n, limit.String())))
		}
		pages(n, request, requests.Key(string(n)))
	}
	c.forbid(hugePages && !compute, at, "HugePages require cpu or memory")
	c.usedClaims(r.Claims, claims, at.Child("claims"))
}

// quantity checks that it is not negative, and whole where things are counted.
func (c *checks) quantity(name corev1.ResourceName, q resource.Quantity, at *field.Path) {
	c.invalidIf(q.Sign() < 0, at, q.String(), "must be greater than or equal to 0")
	counted := slices.Contains(countedResources, string(name)) || isExtended(name)
	c.invalidIf(counted && q.MilliValue()%1000 != 0, at, q, "must be an integer")
}

// resourceName tells whether the name is one of a resource.
func (c *checks) resourceName(at *field.Path, name corev1.ResourceName) bool {
	if messages := utilvalidation.IsQualifiedName(string(name)); len(messages) > 0 {
		c.each(at, name, messages)
		return false
	}
	known := slices.Concat(computeResources, countedResources, otherResources)
	bad := !strings.Contains(string(name), "/") && !isHugePages(name) && !slices.Contains(known, string(name))
	c.invalidIf(bad, at, name, "must be a standard resource type or fully qualified")
	return !bad
}

func (c *checks) containerResource(at *field.Path, name corev1.ResourceName) {
	c.resourceName(at, name)
	if !strings.Contains(string(name), "/") {
		c.invalidIf(!isHugePages(name) && !slices.Contains(computeResources, string(name)), at, name, "must be a standard resource for containers")
	} else if !isNative(name) {
		c.invalidIf(!isExtended(name), at, name, "doesn't follow extended resource name standard")
	}
}

func (c *checks) podResource(at *field.Path, name corev1.ResourceName) {
	if c.resourceName(at, name) && !isHugePages(name) {
		supported(c, at, name, corev1.ResourceCPU, corev1.ResourceHugePagesPrefix, corev1.ResourceMemory)
	}
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isNative tells Kubernetes' own resources from those of others, which have a domain.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), "kubernetes.io/")
}

func isExtended(name corev1.ResourceName) bool {
	return !isNative(name) && !strings.HasPrefix(string(name), "requests.") && len(utilvalidation.IsQualifiedName("requests."+string(name))) == 0
}

// wholePages tells whether the quantity is a number of pages of the size that the name says.
func wholePages(name corev1.ResourceName, q resource.Quantity) bool {
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	return err == nil && size.Sign() > 0 && size.MilliValue()%1000 == 0 && q.Value()%size.Value() == 0
}

// usedClaims checks that each of a container's claims is one of the pod's.
func (c *checks) usedClaims(used []corev1.ResourceClaim, claims map[string]bool, at *field.Path) {
	for i, claim := range used {
		if c.require(at.Index(i), claim.Name) && !claims[claim.Name] {
			err := field.NotFound(at.Index(i), claim.Name)
			err.Detail = "must be one of the names in pod.spec.resourceClaims which is empty"
			if len(claims) > 0 {
				err.Detail = "must be one of the names in pod.spec.resourceClaims: " + strings.Join(sortedKeys(claims), ", ")
			}
			c.add(err)
		}
	}
}

// podResources checks the resources of the whole pod.
func (c *checks) podResources(s *podSpec) {
	whole, at := s.Resources, s.at.Child("resources")
	if whole == nil {
		return
	}
	c.forbid(whole.Claims != nil, at.Child("claims"), "claims may not be set for Resources at pod-level")
	c.resources(whole, c.podResource, s.claims, at)
}
