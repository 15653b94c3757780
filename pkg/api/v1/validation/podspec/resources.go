package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation/check"
)

// resources checks the names and the quantities of limits and requests, and the claims.
func (c checks) resources(r *corev1.ResourceRequirements, name func(*field.Path, corev1.ResourceName), claims map[string]bool, at *field.Path) {
	limits, requests := at.Child("limits"), at.Child("requests")
	compute, hugePages := false, false
	one := func(n corev1.ResourceName, q resource.Quantity, at *field.Path) {
		name(at, n)
		c.Quantity(n, q, at)
		compute = compute || n == corev1.ResourceCPU || n == corev1.ResourceMemory
	}
	pages := func(n corev1.ResourceName, q resource.Quantity, at *field.Path) {
		if check.IsHugePages(n) {
			hugePages = true
			c.InvalidIf(!wholePages(n, q), at, q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), n))
		}
	}
	for _, n := range check.SortedKeys(r.Limits) {
		one(n, r.Limits[n], limits.Key(string(n)))
		pages(n, r.Limits[n], limits.Key(string(n)))
	}
	for _, n := range check.SortedKeys(r.Requests) {
		request := r.Requests[n]
		one(n, request, requests.Key(string(n)))
		overcommit := check.IsNative(n) && !check.IsHugePages(n)
		switch limit, limited := r.Limits[n]; {
		case !limited && !overcommit:
			c.Add(field.Required(limits, "Limit must be set for non overcommitable resources"))
		case limited && !overcommit && request.Cmp(limit) != 0:
			c.Add(field.Invalid(requests, request.String(), fmt.Sprintf("must be equal to %s limit of %s", n, limit.String())))
		case limited && request.Cmp(limit) > 0:
			c.Add(field.Invalid(requests, request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", n, limit.String())))
		}
		pages(n, request, requests.Key(string(n)))
	}
	c.Forbid(hugePages && !compute, at, "HugePages require cpu or memory")
	c.usedClaims(r.Claims, claims, at.Child("claims"))
}

// wholePod checks the resources of a pod as a whole against those of its containers.
func (c checks) wholePod(s *podSpec, at *field.Path) {
	sum := defaults.Aggregate(&s.PodSpec, func(ctr *corev1.Container) corev1.ResourceList { return ctr.Resources.Requests })
	for _, n := range check.SortedKeys(sum) {
		need, whole := sum[n], s.Resources.Requests[n]
		_, there := s.Resources.Requests[n]
		c.InvalidIf(there && need.Cmp(whole) > 0, at.Child("requests").Key(string(n)), whole.String(), "must be greater than or equal to aggregate container requests of "+need.String())
	}
	for i, ctr := range s.Containers {
		for _, n := range check.SortedKeys(ctr.Resources.Limits) {
			limit, whole := ctr.Resources.Limits[n], s.Resources.Limits[n]
			_, there := s.Resources.Limits[n]
			c.InvalidIf(there && limit.Cmp(whole) > 0, at.Child("containers").Index(i).Key(string(n)).Child("limits"), limit.String(), "must be less than or equal to pod limits of "+whole.String())
		}
	}
}

func (c checks) podResource(at *field.Path, name corev1.ResourceName) {
	if c.ResourceName(at, name) && !check.IsHugePages(name) {
		check.Supported(c.Errors, at, name, corev1.ResourceCPU, corev1.ResourceHugePagesPrefix, corev1.ResourceMemory)
	}
}

// wholePages reports whether a quantity is a multiple of the page size in the name.
func wholePages(name corev1.ResourceName, q resource.Quantity) bool {
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	return err == nil && size.Sign() > 0 && size.MilliValue()%1000 == 0 && q.Value()%size.Value() == 0
}

// usedClaims checks that each claim of a container is one of the pod.
func (c checks) usedClaims(used []corev1.ResourceClaim, claims map[string]bool, at *field.Path) {
	for i, claim := range used {
		if c.Require(at.Index(i), claim.Name) && !claims[claim.Name] {
			err := field.NotFound(at.Index(i), claim.Name)
			err.Detail = "must be one of the names in pod.spec.resourceClaims which is empty"
			if len(claims) > 0 {
				err.Detail = "must be one of the names in pod.spec.resourceClaims: " + strings.Join(check.SortedKeys(claims), ", ")
			}
			c.Add(err)
		}
	}
}
