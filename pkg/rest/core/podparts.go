package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// podParts returns the rows of the subresources by which a part of a pod changes that otherwise may not.
func podParts(row rest.Resource, pods *genericregistry.Store[*corev1.Pod]) []rest.Resource {
	part := func(name string, sets fieldmanager.Fields, validate func(now, old *corev1.Pod) field.ErrorList, change func(spec, wanted *corev1.PodSpec)) rest.Resource {
		return row.Subresource(name, generic.SubresourceOf(pods, name, genericregistry.Strategy[*corev1.Pod]{
			Default: defaults.Pod,
			PrepareForUpdate: func(pod, old *corev1.Pod) {
				wanted, before := pod.Spec, old.DeepCopy()
				pod.Spec, pod.Status = before.Spec, before.Status
				pod.Labels, pod.Annotations, pod.Finalizers, pod.OwnerReferences = before.Labels, before.Annotations, before.Finalizers, before.OwnerReferences
				change(&pod.Spec, &wanted)
				countGeneration(pod, pod.Spec, old.Spec)
			},
			ValidateUpdate: validate,
			Sets:           sets,
		}))
	}
	return []rest.Resource{
		part("ephemeralcontainers", fieldmanager.Fields{"spec.ephemeralContainers"}, validation.ValidatePodEphemeralContainers, func(spec, wanted *corev1.PodSpec) {
			spec.EphemeralContainers = wanted.EphemeralContainers
		}),
		part("resize", resizable, validation.ValidatePodResize, func(spec, wanted *corev1.PodSpec) {
			if len(spec.Containers) != len(wanted.Containers) || len(spec.InitContainers) != len(wanted.InitContainers) {
				*spec = *wanted // the validation tells
				return
			}
			spec.Resources = wanted.Resources
			resized(&spec.Containers, wanted.Containers)
			resized(&spec.InitContainers, wanted.InitContainers)
		}),
	}
}

// resizable are the fields that a resize may change.
var resizable = fieldmanager.Fields{"spec.containers.*.resources", "spec.containers.*.resizePolicy", "spec.initContainers.*.resources",
	"spec.initContainers.*.resizePolicy"}

// resized gives containers the resources of the wanted ones. If a name differs, all are the wanted ones, for the validation
// to tell.
func resized(containers *[]corev1.Container, wanted []corev1.Container) {
	for i := range wanted {
		if (*containers)[i].Name != wanted[i].Name {
			*containers = wanted
			return
		}
	}
	for i, ctr := range wanted {
		(*containers)[i].Resources, (*containers)[i].ResizePolicy = ctr.Resources, ctr.ResizePolicy
	}
}
