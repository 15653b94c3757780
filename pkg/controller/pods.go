package controller

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util/pods"
)

// maxPodPrefix is how much of the name of a pod is before its number: with up to five digits it is as long as a host name may be,
// 63 bytes.
const maxPodPrefix = 58

// PodPrefix returns what the names of the pods of an object begin with, before the number, with an end.
func PodPrefix(name, end string) string {
	if most := maxPodPrefix - len(end); len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + end
}

// IsActive reports whether a pod runs, or will: it has not ended, and is not being deleted.
func IsActive(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && !pods.HasEnded(pod) }

// ReadyCondition returns the condition Ready of a pod if it is true, else nil.
func ReadyCondition(pod *corev1.Pod) *corev1.PodCondition {
	if ready := pods.Condition(pod.Status.Conditions, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		return ready
	}
	return nil
}
