package controller

import (
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util/pods"
)

// IsActive reports whether a pod runs, or will: it has not ended, and is not being deleted.
func IsActive(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !pods.HasEnded(pod) }

// ReadyCondition returns the condition Ready of a pod if it is true, else nil.
func ReadyCondition(pod *corev1.Pod) *corev1.PodCondition {
	if ready := pods.Condition(pod.Status.Conditions, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		return ready
	}
	return nil
}
