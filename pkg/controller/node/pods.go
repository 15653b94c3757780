package node

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/util/pods"
)

const podNodeLost = "NodeLost"

// isReplaced reports whether the controller of a pod creates another one, on another node, when it is
// deleted. A daemon set would create it on the same node; a node's own pod belongs there, too. A
// stateful set would create one of the same name, although the first may still run, unless its node is
// gone.
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

// lostPod returns the pod with the status of a lost node, nil if it has that status.
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

// markNotReady sets the condition Ready of a pod to False. It reports whether that is a change.
func markNotReady(pod *corev1.Pod, now metav1.Time) (changed bool) {
	notReady := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: podNodeLost, LastTransitionTime: now}
	switch ready := pods.Condition(pod.Status.Conditions, corev1.PodReady); {
	case ready == nil:
		pod.Status.Conditions = append(pod.Status.Conditions, notReady)
	case ready.Status == corev1.ConditionFalse:
		return false
	default:
		*ready = notReady
	}
	return true
}
