package defaults

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// LimitRange sets the defaults of containers: limits are the maximum, requests the limits or the minimum.
func LimitRange(limits *corev1.LimitRange) {
	for i := range limits.Spec.Limits {
		if item := &limits.Spec.Limits[i]; item.Type == corev1.LimitTypeContainer {
			item.Default = with(item.Default, item.Max)
			item.DefaultRequest = with(with(item.DefaultRequest, item.Default), item.Min)
		}
	}
}

// with returns a list with the missing resources of another one.
func with(list, other corev1.ResourceList) corev1.ResourceList {
	both := corev1.ResourceList{}
	maps.Copy(both, other)
	maps.Copy(both, list)
	return both
}
