// Package pods answers what several parts ask about pods. It only reads them.
package pods

import corev1 "k8s.io/api/core/v1"

// HasEnded reports whether a pod is over: none of its containers will run again.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Selects reports whether the selector of a service or a replication controller selects what has such labels. An
// empty one selects nothing.
func Selects(selector, labels map[string]string) bool {
	for name, value := range selector {
		if has, there := labels[name]; !there || has != value {
			return false
		}
	}
	return len(selector) > 0
}
