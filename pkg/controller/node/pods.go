package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const podNodeLost = "NodeLost"

// isReplaced reports whether the controller of a pod makes another one, on another node, when it is
// deleted. A daemon set would make it on the same node, where a node's own pod belongs, too. A stateful
// set would make one of the same name, although the first may still run, unless its node is gone.
func isReplaced(pod *corev1.Pod, isNodeGone bool) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return false
	}
	switch owner.Kind {
	case "DaemonSet", "Node":
		return false
	case "StatefulSet":
		return isNodeGone
	}
	return true
}

// lostPod returns the pod with the status of one whose node is lost, nil if it has that.
func lostPod(pod *corev1.Pod, now metav1.Time) *corev1.Pod {
	lost := pod.DeepCopy()
	changed := markNotReady(lost, now)
	if pod.Status.Phase == corev1.PodUnknown && pod.Status.Reason == podNodeLost && !changed {
		return nil
	}
	lost.Status.Phase, lost.Status.Reason = corev1.PodUnknown, podNodeLost
	lost.Status.Message = fmt.Sprintf("Node %s which was running pod %s is unresponsive", pod.Spec.NodeName, pod.Name)
	return lost
}

// markNotReady makes the condition Ready of a pod False. It reports whether it was not.
func markNotReady(pod *corev1.Pod, now metav1.Time) (changed bool) {
	notReady := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: podNodeLost, LastTransitionTime: now}
	for i, condition := range pod.Status.Conditions {
		if condition.Type != corev1.PodReady {
			continue
		}
		if condition.Status != corev1.ConditionFalse {
			pod.Status.Conditions[i] = notReady
		}
		return condition.Status != corev1.ConditionFalse
	}
	pod.Status.Conditions = append(pod.Status.Conditions, notReady)
	return true
}
