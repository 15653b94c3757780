package defaults

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/pkg/util/pods"
)

// requestLimits sets missing requests to the limits.
func requestLimits(resources *corev1.ResourceRequirements) {
	if resources.Limits != nil && resources.Requests == nil {
		resources.Requests = corev1.ResourceList{}
	}
	addMissing(resources.Requests, resources.Limits, anyResource)
}

// addMissing adds the wanted resources of another list that a list does not have.
func addMissing(list, other corev1.ResourceList, wanted func(corev1.ResourceName) bool) {
	for name, quantity := range other {
		if _, there := list[name]; !there && wanted(name) {
			list[name] = quantity.DeepCopy()
		}
	}
}

func anyResource(corev1.ResourceName) bool { return true }

// podResources completes the resources of the whole pod, if it has some: the limits of huge pages
// from the containers, the requests from the containers and from the limits.
func podResources(spec *corev1.PodSpec) {
	whole := spec.Resources
	if whole == nil {
		return
	}
	if len(whole.Limits)+len(whole.Requests) > 0 {
		limits := corev1.ResourceList{}
		addMissing(limits, whole.Limits, anyResource)
		addMissing(limits, Aggregate(spec, limitsOf), func(name corev1.ResourceName) bool {
			_, requested := whole.Requests[name]
			return isHugePages(name) && !requested
		})
		if len(limits) > 0 {
			whole.Limits = limits
		}
	}
	if len(whole.Limits) == 0 {
		return
	}
	requests := corev1.ResourceList{}
	addMissing(requests, whole.Requests, anyResource)
	addMissing(requests, Aggregate(spec, requestsOf), isCompute)
	addMissing(requests, whole.Limits, func(name corev1.ResourceName) bool { return isCompute(name) || isHugePages(name) })
	if len(requests) > 0 {
		whole.Requests = requests
	}
}

// Aggregate returns what the containers need at the same time: the sum of those that run
// together or, if that is more, an init container with the sidecars before it.
func Aggregate(spec *corev1.PodSpec, list func(*corev1.Container) corev1.ResourceList) corev1.ResourceList {
	together, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.Containers {
		Add(together, list(&spec.Containers[i]))
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if pods.IsSidecar(c) {
			Add(together, list(c))
			Add(sidecars, list(c))
			raise(most, sidecars)
			continue
		}
		now := sidecars.DeepCopy()
		Add(now, list(c))
		raise(most, now)
	}
	raise(together, most)
	return together
}

// OfPod returns the requests and limits of a pod: those of its containers together, unless the whole pod has its own.
func OfPod(spec *corev1.PodSpec) (requests, limits corev1.ResourceList) {
	requests, limits = Aggregate(spec, requestsOf), Aggregate(spec, limitsOf)
	if whole := spec.Resources; whole != nil {
		maps.Copy(requests, whole.Requests)
		maps.Copy(limits, whole.Limits)
	}
	return requests, limits
}

func requestsOf(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests }
func limitsOf(c *corev1.Container) corev1.ResourceList   { return c.Resources.Limits }

// Add adds the quantities of a list to a sum.
func Add(sum, list corev1.ResourceList) {
	for name, quantity := range list {
		total := sum[name].DeepCopy()
		total.Add(quantity)
		sum[name] = total
	}
}

func raise(most, list corev1.ResourceList) {
	for name, quantity := range list {
		if now, there := most[name]; !there || quantity.Cmp(now) > 0 {
			most[name] = quantity.DeepCopy()
		}
	}
}

func isCompute(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// QOSClass returns Guaranteed if every container limits CPU and memory and the sums of requests
// and limits are equal, BestEffort if there are no requests and limits of CPU and memory,
// otherwise Burstable. The resources of the whole pod, if set, replace those of the containers.
func QOSClass(pod *corev1.Pod) corev1.PodQOSClass {
	var all []corev1.ResourceRequirements
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			all = append(all, containers[i].Resources)
		}
	}
	if whole := pod.Spec.Resources; whole != nil {
		all = []corev1.ResourceRequirements{*whole}
	}
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	guaranteed := true
	for _, resources := range all {
		Add(requests, compute(resources.Requests))
		limited := compute(resources.Limits)
		Add(limits, limited)
		guaranteed = guaranteed && len(limited) == 2
	}
	if len(requests)+len(limits) == 0 {
		return corev1.PodQOSBestEffort
	}
	for name, request := range requests {
		limit, there := limits[name]
		guaranteed = guaranteed && there && limit.Cmp(request) == 0
	}
	if guaranteed && len(requests) == len(limits) {
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// compute returns the CPU and the memory of a list that are more than 0.
func compute(list corev1.ResourceList) corev1.ResourceList {
	some := maps.Clone(list)
	maps.DeleteFunc(some, func(name corev1.ResourceName, quantity resource.Quantity) bool {
		return !isCompute(name) || quantity.Sign() <= 0
	})
	return some
}

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
