package plugin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/pkg/api/v1/defaults"
)

// What is checked of the minimum, of the maximum and of the ratio of an item. Claims have requests alone.
var (
	checksOfPods   = []func(usage) string{usage.minimum, usage.maximum, usage.ratio}
	checksOfClaims = []func(usage) string{usage.minimum, usage.maximumRequest}
)

// checkLimits returns how a pod violates the limits of one object, in their order.
func checkLimits(pod *corev1.Pod, items []corev1.LimitRangeItem) (errs []error) {
	for i := range items {
		switch item := &items[i]; item.Type {
		case corev1.LimitTypeContainer:
			for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
				errs = append(errs, checkItem(item, container.Resources.Requests, container.Resources.Limits, checksOfPods)...)
			}
		case corev1.LimitTypePod:
			requests, limits := defaults.OfPod(&pod.Spec)
			errs = append(errs, checkItem(item, requests, limits, checksOfPods)...)
		}
	}
	return errs
}

// checkClaim returns how a claim of storage violates the limits of one object.
func checkClaim(claim *corev1.PersistentVolumeClaim, items []corev1.LimitRangeItem) (errs []error) {
	for i := range items {
		if items[i].Type == corev1.LimitTypePersistentVolumeClaim {
			errs = append(errs, checkItem(&items[i], claim.Spec.Resources.Requests, nil, checksOfClaims)...)
		}
	}
	return errs
}

// checkItem returns the violations of one item.
func checkItem(item *corev1.LimitRangeItem, requests, limits corev1.ResourceList, checks []func(usage) string) (errs []error) {
	for i, check := range checks {
		enforced := []corev1.ResourceList{item.Min, item.Max, item.MaxLimitRequestRatio}[i]
		for _, name := range slices.Sorted(maps.Keys(enforced)) {
			used := usage{string(name), string(item.Type), enforced[name], in(requests, name), in(limits, name)}
			if why := check(used); why != "" {
				errs = append(errs, errors.New(why))
			}
		}
	}
	return errs
}

// in returns the quantity of a resource in a list, nil for none.
func in(list corev1.ResourceList, name corev1.ResourceName) *resource.Quantity {
	if quantity, there := list[name]; there {
		return &quantity
	}
	return nil
}

// usage has the request and the limit of a container or a pod for one resource, and the enforced
// quantity. Its methods return the violation in the words of today's server, "" for none.
type usage struct {
	resource, per  string
	enforced       resource.Quantity
	request, limit *resource.Quantity // nil if there is none
}

func (u usage) minimum() string {
	return u.bound("minimum", -1, part{"request", u.request}, part{"limit", u.limit})
}
func (u usage) maximum() string {
	return u.bound("maximum", 1, part{"limit", u.limit}, part{"request", u.request})
}

func (u usage) maximumRequest() string {
	return u.bound("maximum", 1, part{"request", u.request}, part{})
}

// part is a request or a limit.
type part struct {
	name     string
	quantity *resource.Quantity
}

// bound returns the violation of a bound: if the first part is missing, or if one of them is on the wrong side.
func (u usage) bound(what string, wrong int, first, second part) string {
	what = fmt.Sprintf("%s %s usage per %s is %s", what, u.resource, u.per, u.enforced.String())
	if first.quantity == nil {
		return what + ".  No " + first.name + " is specified"
	}
	for _, one := range []part{first, second} {
		if one.quantity != nil && one.quantity.Cmp(u.enforced) == wrong {
			return what + ", but " + one.name + " is " + one.quantity.String()
		}
	}
	return ""
}

func (u usage) ratio() string {
	what := fmt.Sprintf("%s max limit to request ratio per %s is %s, but ", u.resource, u.per, u.enforced.String())
	switch {
	case u.request == nil || u.request.IsZero():
		return what + "no request is specified or request is 0"
	case u.limit == nil || u.limit.IsZero():
		return what + "no limit is specified or limit is 0"
	}
	provided := thousandths(*u.limit) / thousandths(*u.request)
	if provided > thousandths(u.enforced)/1000 {
		return what + fmt.Sprintf("provided ratio is %f", provided)
	}
	return ""
}

// thousandths returns a quantity in thousandths, so that fractions such as 300m/100m are exact.
func thousandths(q resource.Quantity) float64 {
	if q.Value() > resource.MaxMilliValue {
		return 1000 * float64(q.Value())
	}
	return float64(q.MilliValue())
}
