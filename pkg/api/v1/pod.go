package v1

import (
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1/defaults"
)

// manifestVersion is the version of the manifests in June 2014's examples.
const manifestVersion = "v1beta1"

func inPod(pod corev1.Pod) (task api.Task, err error) {
	task = api.Task{JSONBase: api.JSONBase{ID: pod.Name}}
	task.ObjectMeta, pod.ObjectMeta = inMeta(pod.ObjectMeta)
	task.Labels, pod.Labels = pod.Labels, nil
	task.CurrentState.Host, pod.Spec.NodeName = pod.Spec.NodeName, ""
	task.Held = pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 || pod.Spec.SchedulerName != "" && pod.Spec.SchedulerName != corev1.DefaultSchedulerName
	task.DesiredState.Manifest, pod.Spec = inPodSpec(pod.Spec)
	defaults.StripPod(&pod)
	task.Remainder, err = encodeRest(&corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec, Status: pod.Status})
	return task, err
}

func outPod(task api.Task) (corev1.Pod, error) {
	pod, err := decodeRest[corev1.Pod](&task)
	if err != nil {
		return corev1.Pod{}, err
	}
	outMeta(&pod.ObjectMeta, &task)
	pod.Labels = task.Labels
	pod.Spec = outPodSpec(task.DesiredState.Manifest, pod.Spec)
	pod.Spec.NodeName = task.CurrentState.Host
	defaults.Pod(&pod)
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = defaults.QOSClass(&pod)
	}
	return pod, nil
}

// inPodSpec splits a spec into June 2014's manifest and the rest.
func inPodSpec(spec corev1.PodSpec) (api.ContainerManifest, corev1.PodSpec) {
	spec, putAccess := cutAccess(spec)
	manifest := api.ContainerManifest{
		Version:    manifestVersion,
		Volumes:    conversion.Each(spec.Volumes, inVolume),
		Containers: conversion.Each(spec.Containers, inContainer),
	}
	spec.Volumes = refinements(spec.Volumes, inVolume, outVolume)
	spec.Containers = conversion.Each(spec.Containers, restOfContainer)
	putAccess(&spec)
	defaults.StripPodSpec(&spec)
	return manifest, spec
}

// outPodSpec converts a manifest, and adds the rest.
func outPodSpec(manifest api.ContainerManifest, rest corev1.PodSpec) corev1.PodSpec {
	byName := map[string][]corev1.Container{}
	for _, container := range rest.Containers {
		byName[container.Name] = append(byName[container.Name], container)
	}
	rest.Containers = conversion.Each(manifest.Containers, func(container api.Container) (own corev1.Container) {
		if named := byName[container.Name]; len(named) > 0 {
			own, byName[container.Name] = named[0], named[1:]
		}
		return outContainer(container, own)
	})
	rest.Volumes = withAccess(refine(manifest.Volumes, rest.Volumes, inVolume, outVolume), manifest.Volumes, rest.Volumes)
	return rest
}
