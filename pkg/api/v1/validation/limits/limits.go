// Package limits validates what bounds the objects of a namespace: limit ranges and quotas.
package limits

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// checks has the rules of this package.
type checks struct{ *check.Errors }

// LimitRange checks the spec of a limit range.
func LimitRange(errors *check.Errors, now, _ *corev1.LimitRange) {
	c, types := checks{errors}, check.Unique{}
	for i := range now.Spec.Limits {
		item, at := &now.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		c.limitType(item.Type, at.Child("type"))
		types.Check(c.Errors, at.Child("type"), string(item.Type))
		c.limitItem(item, at)
	}
}

func (c checks) limitType(name corev1.LimitType, at *field.Path) {
	if messages := utilvalidation.IsQualifiedName(string(name)); len(messages) > 0 {
		c.Each(at, name, messages)
		return
	}
	standard := []corev1.LimitType{corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim}
	c.InvalidIf(!strings.Contains(string(name), "/") && !slices.Contains(standard, name), at, name, "must be a standard limit type or fully qualified")
}

func (c checks) limitItem(item *corev1.LimitRangeItem, at *field.Path) {
	isPod := item.Type == corev1.LimitTypePod
	name := func(at *field.Path, name corev1.ResourceName) { c.ResourceName(at, name) }
	if isPod || item.Type == corev1.LimitTypeContainer {
		name = c.ContainerResource
	}
	names := func(list corev1.ResourceList, at *field.Path) {
		for _, key := range check.SortedKeys(list) {
			name(at.Key(string(key)), key)
		}
	}
	limit, request := item.Default, item.DefaultRequest
	names(item.Max, at.Child("max"))
	names(item.Min, at.Child("min"))
	if isPod {
		c.Forbid(len(limit) > 0, at.Child("default"), "may not be specified when `type` is 'Pod'")
		c.Forbid(len(request) > 0, at.Child("defaultRequest"), "may not be specified when `type` is 'Pod'")
		limit, request = nil, nil
	}
	names(limit, at.Child("default"))
	names(request, at.Child("defaultRequest"))
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, least := item.Min[corev1.ResourceStorage]
		_, most := item.Max[corev1.ResourceStorage]
		c.RequiredIf(!least && !most, at.Child("limits"), "either minimum or maximum storage value is required, but neither was provided")
	}
	names(item.MaxLimitRequestRatio, at.Child("maxLimitRequestRatio"))
	all := corev1.ResourceList{}
	for _, list := range []corev1.ResourceList{item.Max, item.Min, limit, request, item.MaxLimitRequestRatio} {
		maps.Copy(all, list)
	}
	for _, name := range check.SortedKeys(all) {
		c.limitsOf(name, limitsOf{
			in(item.Min, name, "min"), in(item.Max, name, "max"), in(limit, name, "default"), in(request, name, "default request"),
			in(item.MaxLimitRequestRatio, name, ""),
		}, at)
	}
}

// limitsOf has the limits of one resource.
type limitsOf struct{ least, most, limit, request, ratio one }

// one is a value of a resource, in words.
type one struct {
	resource.Quantity
	words string
	isSet bool
}

func in(list corev1.ResourceList, name corev1.ResourceName, words string) one {
	value, isSet := list[name]
	return one{value, words, isSet}
}

// limitsOf checks that the limits of a resource do not contradict each other.
func (c checks) limitsOf(name corev1.ResourceName, l limitsOf, at *field.Path) {
	key := func(field string) *field.Path { return at.Child(field).Key(string(name)) }
	ordered := func(at *field.Path, wrong, smaller, larger one) {
		if smaller.isSet && larger.isSet && smaller.Cmp(larger.Quantity) > 0 {
			c.Add(field.Invalid(at, wrong.Quantity, fmt.Sprintf("%s value %s is greater than %s value %s", smaller.words, smaller.String(), larger.words, larger.String())))
		}
	}
	ordered(key("min"), l.least, l.least, l.most)
	ordered(key("defaultRequest"), l.request, l.least, l.request)
	ordered(key("defaultRequest"), l.request, l.request, l.most)
	named := l.limit
	named.words = "default limit"
	ordered(key("defaultRequest"), l.request, l.request, named)
	ordered(key("default"), l.least, l.least, l.limit)
	ordered(key("default"), l.most, l.limit, l.most)
	if l.ratio.isSet {
		ratio := l.ratio.AsApproximateFloat64()
		c.InvalidIf(ratio < 1, key("maxLimitRequestRatio"), l.ratio.Quantity, fmt.Sprintf("ratio %s is less than 1", l.ratio.String()))
		if possible := l.most.AsApproximateFloat64() / l.least.AsApproximateFloat64(); l.least.isSet && l.most.isSet && ratio > possible {
			c.Add(field.Invalid(key("maxLimitRequestRatio"), l.ratio.Quantity, fmt.Sprintf("ratio %s is greater than max/min = %f", l.ratio.String(), possible)))
		}
	}
	whole := !check.IsNative(name) || check.IsHugePages(name)
	c.InvalidIf(whole && l.limit.isSet && l.request.isSet && l.limit.Cmp(l.request.Quantity) != 0, key("defaultRequest"), l.request.Quantity,
		fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", l.limit.String(), l.request.String(), name))
}
