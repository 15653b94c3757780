// Package pods has functions about pods that several parts share. They only read.
package pods

import (
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util"
)

// HasEnded reports whether a pod is over: none of its containers will run again.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Condition returns the condition of a type, nil if there is none.
func Condition(conditions []corev1.PodCondition, conditionType corev1.PodConditionType) *corev1.PodCondition {
	return util.Find(conditions, func(c corev1.PodCondition) bool { return c.Type == conditionType })
}

// IsMirror reports whether a pod only shows one that a kubelet runs by itself, and must stay as that is.
func IsMirror(pod *corev1.Pod) bool {
	_, is := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return is
}

// IsSidecar reports whether an init container runs on beside the others.
func IsSidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// Selects reports whether the selector of a service or a replication controller matches labels. An
// empty selector matches nothing.
func Selects(selector, labels map[string]string) bool {
	for name, value := range selector {
		if has, there := labels[name]; !there || has != value {
			return false
		}
	}
	return len(selector) > 0
}
