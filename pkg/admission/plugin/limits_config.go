package plugin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// completeLimitRange sets the defaults of an object of the configuration and checks it. The error
// names a field.
func completeLimitRange(path *field.Path, object *corev1.LimitRange) error {
	if namespace := object.Namespace; namespace != "" && namespace != corev1.NamespaceDefault {
		return fmt.Errorf("%s: there is only the namespace default", path.Child("metadata", "namespace"))
	}
	seen := map[corev1.LimitType]bool{}
	for i := range object.Spec.Limits {
		item, at := &object.Spec.Limits[i], path.Child("spec", "limits").Index(i)
		switch {
		case item.Type != corev1.LimitTypeContainer && item.Type != corev1.LimitTypePod:
			return fmt.Errorf("%s: is neither Container nor Pod", at.Child("type"))
		case seen[item.Type]:
			return fmt.Errorf("%s: is there twice", at.Child("type"))
		case item.Type == corev1.LimitTypePod && len(item.Default) > 0:
			return fmt.Errorf("%s: is only for the type Container", at.Child("default"))
		case item.Type == corev1.LimitTypePod && len(item.DefaultRequest) > 0:
			return fmt.Errorf("%s: is only for the type Container", at.Child("defaultRequest"))
		}
		seen[item.Type] = true
		if item.Type == corev1.LimitTypeContainer { // the defaults that today's server sets
			item.Default = with(item.Default, item.Max)
			item.DefaultRequest = with(with(item.DefaultRequest, item.Default), item.Min)
		}
		if err := checkItemItself(at, item); err != nil {
			return err
		}
	}
	return nil
}

// with returns a list with the missing resources of another one.
func with(list, other corev1.ResourceList) corev1.ResourceList {
	both := corev1.ResourceList{}
	maps.Copy(both, other)
	maps.Copy(both, list)
	return both
}

// checkItemItself returns an error if no container or pod could satisfy the item. Fields that may have
// defaults are compared last, so that the error names a field of the configuration.
func checkItemItself(at *field.Path, item *corev1.LimitRangeItem) error {
	type list struct {
		field string
		list  corev1.ResourceList
	}
	least, most := list{"min", item.Min}, list{"max", item.Max}
	limit, request := list{"default", item.Default}, list{"defaultRequest", item.DefaultRequest}
	for _, pair := range [][2]list{{least, most}, {least, limit}, {limit, most}, {least, request}, {request, limit}, {request, most}} {
		smaller, larger := pair[0], pair[1]
		for _, name := range slices.Sorted(maps.Keys(smaller.list)) {
			if other, there := larger.list[name]; there && other.Cmp(smaller.list[name]) < 0 {
				return fmt.Errorf("%s: is more than %s", at.Child(smaller.field).Key(string(name)), larger.field)
			}
		}
	}
	for _, one := range []list{least, most, limit, request, {"maxLimitRequestRatio", item.MaxLimitRequestRatio}} {
		for _, name := range slices.Sorted(maps.Keys(one.list)) {
			value, path := one.list[name], at.Child(one.field).Key(string(name))
			switch {
			case value.Sign() < 0:
				return fmt.Errorf("%s: is negative", path)
			case !isResource(name):
				return fmt.Errorf("%s: is no resource of containers", path)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		if err := checkRatio(item.MaxLimitRequestRatio[name], in(item.Min, name), in(item.Max, name)); err != nil {
			return fmt.Errorf("%s: %w", at.Child("maxLimitRequestRatio").Key(string(name)), err)
		}
	}
	return nil
}

// isResource reports whether a container can have a resource. Extended resources have a prefix.
func isResource(name corev1.ResourceName) bool {
	return slices.Contains(check.ComputeResources, string(name)) || check.IsHugePages(name) || strings.Contains(string(name), "/")
}

// checkRatio returns an error if a ratio forbids everything or nothing. Least and most may be nil.
func checkRatio(ratio resource.Quantity, least, most *resource.Quantity) error {
	if ratio.Cmp(resource.MustParse("1")) < 0 {
		return errors.New("is less than 1")
	}
	if least != nil && most != nil && !least.IsZero() && thousandths(ratio)/1000 > thousandths(*most)/thousandths(*least) {
		return errors.New("is more than max is of min")
	}
	return nil
}
