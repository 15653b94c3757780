package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/util/pods"
)

// ValidatePodEphemeralContainers checks an update of a pod's ephemeral containers, which can only be added.
func ValidatePodEphemeralContainers(now, old *corev1.Pod) field.ErrorList {
	if pods.IsMirror(old) {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	return update(now, old, func(c checks, now, old *corev1.Pod) {
		c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
		c.pod(now)
		named := map[string]corev1.EphemeralContainer{}
		for _, ctr := range now.Spec.EphemeralContainers {
			named[ctr.Name] = ctr
		}
		at := field.NewPath("spec", "ephemeralContainers")
		for _, before := range old.Spec.EphemeralContainers {
			if after, there := named[before.Name]; !there {
				c.Add(field.Forbidden(at, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", before.Name)))
			} else if !check.Same(after, before) {
				c.Add(field.Forbidden(at, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", before.Name, diff.Diff(before, after))))
			}
		}
	})
}

const onlyCompute = "only cpu and memory resources are mutable"

// ValidatePodResize checks an update of the resources of a pod and its containers. Of these, CPU and memory may change, but
// not so that the pod gets another class of quality.
func ValidatePodResize(now, old *corev1.Pod) field.ErrorList {
	switch nowhere := field.NewPath(""); {
	case pods.IsMirror(old):
		return field.ErrorList{field.Forbidden(nowhere, "static pods cannot be resized")}
	case old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows:
		return field.ErrorList{field.Forbidden(nowhere, "windows pods cannot be resized")}
	}
	return update(now, old, checks.resize)
}

func (c checks) resize(now, old *corev1.Pod) {
	c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
	c.pod(now)
	at, class := field.NewPath("spec"), old.Status.QOSClass
	if class == "" {
		class = defaults.QOSClass(old)
	}
	c.InvalidIf(class != defaults.QOSClass(now), at, now.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
	c.Forbid(!canResize(old), at, "Pod running on node without support for resize")
	if after, before := now.Spec.Resources, old.Spec.Resources; before != nil {
		if after == nil {
			c.Add(field.Forbidden(at.Child("resources"), "pod-level resources cannot be removed"))
		} else {
			c.keepsResources(*after, *before, at.Child("resources"), "pod-level resource")
			c.Forbid(!check.Same(withoutCompute(*after, *before), *before), at, onlyCompute+" at pod-level")
		}
	}
	if !c.sameContainers(now.Spec.Containers, old.Spec.Containers, at, "containers") || !c.sameContainers(now.Spec.InitContainers, old.Spec.InitContainers, at, "initContainers") {
		return
	}
	for i, before := range old.Spec.InitContainers {
		after, at := now.Spec.InitContainers[i], at.Child("initContainers").Index(i)
		c.keepsResources(after.Resources, before.Resources, at.Child("resources"), "resource")
		after.Resources = withoutCompute(after.Resources, before.Resources)
		c.Forbid(!check.Same(after, before), at, "only cpu and memory resources for init or sidecar containers are mutable")
	}
	for i, before := range old.Spec.Containers {
		after := now.Spec.Containers[i]
		c.keepsResources(after.Resources, before.Resources, at.Child("containers").Index(i).Child("resources"), "resource")
		after.Resources = withoutCompute(after.Resources, before.Resources)
		c.Forbid(!check.Same(after, before), at, onlyCompute)
	}
}

// canResize reports whether the node of a pod can change what its containers have: it tells that of running ones.
func canResize(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Running != nil {
			return status.Resources != nil
		}
	}
	return true
}

// sameContainers checks the number and the names of containers, and reports whether they are unchanged.
func (c checks) sameContainers(now, old []corev1.Container, at *field.Path, list string) bool {
	if len(now) != len(old) {
		c.Add(field.Forbidden(at.Child(list), list+" may not be added or removed on resize"))
		return false
	}
	same := true
	for i := range now {
		if now[i].Name != old[i].Name {
			c.Add(field.Forbidden(at.Child(list).Index(i).Child("name"), list+" may not be renamed or reordered on resize"))
			same = false
		}
	}
	return same
}

// keepsResources requires that no request and no limit is removed.
func (c checks) keepsResources(now, old corev1.ResourceRequirements, at *field.Path, what string) {
	removed := func(now, old corev1.ResourceList) bool {
		for name := range old {
			if _, there := now[name]; !there {
				return true
			}
		}
		return false
	}
	c.Forbid(removed(now.Requests, old.Requests), at.Child("requests"), what+" requests cannot be removed")
	c.Forbid(removed(now.Limits, old.Limits), at.Child("limits"), what+" limits cannot be removed")
}

// withoutCompute returns new resources with the CPU and the memory of the old ones.
func withoutCompute(now, old corev1.ResourceRequirements) corev1.ResourceRequirements {
	list := func(now, old corev1.ResourceList) corev1.ResourceList {
		merged := now.DeepCopy()
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			delete(merged, name)
			if quantity, there := old[name]; there {
				if merged == nil {
					merged = corev1.ResourceList{}
				}
				merged[name] = quantity
			}
		}
		return merged
	}
	return corev1.ResourceRequirements{Requests: list(now.Requests, old.Requests), Limits: list(now.Limits, old.Limits), Claims: now.Claims}
}
