package lifecycle

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/util/pods"
)

// PodPhase returns the phase of a pod from the containers' states. A pod that was ended before a
// container began has failed.
func PodPhase(views []View, p Plan) corev1.PodPhase {
	waits, failed := false, false
	for _, c := range views {
		if c.Kind == Sidecar || c.Kind == EphemeralContainer {
			continue
		}
		waits = waits || c.Kind == MainContainer && !c.Ran && (c.Phase == "" || c.Phase == cri.Created)
		failed = failed || c.Phase != cri.Exited || c.Failed
	}
	switch {
	case p.Terminated && failed:
		return corev1.PodFailed
	case p.Terminated:
		return corev1.PodSucceeded
	case !p.Initialized || waits:
		return corev1.PodPending
	}
	return corev1.PodRunning
}

// Conditions returns the conditions of a pod that its kubelet sets. They follow from its other status and from
// its containers.
func Conditions(pod *corev1.Pod, status *corev1.PodStatus, views []View, p Plan) []corev1.PodCondition {
	is := func(kind corev1.PodConditionType, holds bool, reason, message string) corev1.PodCondition {
		condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: pod.Generation}
		if holds {
			condition.Status = corev1.ConditionTrue
		}
		return condition
	}
	started := is(corev1.PodReadyToStartContainers, !p.Terminated, "", "")
	incomplete, unready := lacking(pod, status)
	initialized := is(corev1.PodInitialized, true, "", "")
	switch {
	case status.Phase == corev1.PodSucceeded:
		initialized.Reason = podCompleted
	case !p.Initialized:
		initialized = is(corev1.PodInitialized, false, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: %v", incomplete))
	}
	reason, message := "", ""
	switch {
	case status.Phase == corev1.PodSucceeded:
		reason = podCompleted
	case status.Phase == corev1.PodFailed:
		reason = "PodFailed"
	case len(unready) > 0:
		reason, message = "ContainersNotReady", fmt.Sprintf("containers with unready status: %v", unready)
		for _, c := range views {
			if c.Blocked != "" {
				reason, message = "ContainersBlocked", message+"; "+c.Blocked
			}
		}
	}
	containersReady := is(corev1.ContainersReady, reason == "", reason, message)
	if closed := closedGates(pod); reason == "" && closed != "" {
		reason, message = "ReadinessGatesNotReady", closed
	}
	return []corev1.PodCondition{started, initialized, is(corev1.PodReady, reason == "", reason, message), containersReady}
}

const podCompleted = "PodCompleted"

// lacking returns the init containers that are not done, and the containers that should be ready but
// are not.
func lacking(pod *corev1.Pod, status *corev1.PodStatus) (incomplete, unready []string) {
	for i, container := range status.InitContainerStatuses {
		done := container.Ready
		if pods.IsSidecar(&pod.Spec.InitContainers[i]) {
			done = *container.Started
			if !container.Ready {
				unready = append(unready, container.Name)
			}
		}
		if !done {
			incomplete = append(incomplete, container.Name)
		}
	}
	for _, container := range status.ContainerStatuses {
		if !container.Ready {
			unready = append(unready, container.Name)
		}
	}
	return incomplete, unready
}

// closedGates lists the readiness gates of a pod that are not open. Other clients open them.
func closedGates(pod *corev1.Pod) string {
	var closed []string
	for _, gate := range pod.Spec.ReadinessGates {
		switch condition := pods.Condition(pod.Status.Conditions, gate.ConditionType); {
		case condition == nil:
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case condition.Status != corev1.ConditionTrue:
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, condition.Status))
		}
	}
	return strings.Join(closed, ", ")
}

// MergeStatus returns a pod's status with the kubelet's part replaced. The rest stays.
func MergeStatus(there, own corev1.PodStatus, now metav1.Time) corev1.PodStatus {
	merged := *there.DeepCopy()
	merged.ObservedGeneration = own.ObservedGeneration
	merged.Phase, merged.Reason, merged.Message = own.Phase, own.Reason, own.Message
	merged.HostIP, merged.HostIPs, merged.PodIP, merged.PodIPs = own.HostIP, own.HostIPs, own.PodIP, own.PodIPs
	merged.StartTime = own.StartTime
	merged.InitContainerStatuses, merged.ContainerStatuses = own.InitContainerStatuses, own.ContainerStatuses
	merged.EphemeralContainerStatuses = own.EphemeralContainerStatuses
	for _, condition := range own.Conditions {
		condition.LastTransitionTime = now
		before := pods.Condition(merged.Conditions, condition.Type)
		if before == nil {
			merged.Conditions = append(merged.Conditions, condition)
			continue
		}
		if before.Status == condition.Status {
			condition.LastTransitionTime = before.LastTransitionTime
		}
		condition.LastProbeTime = before.LastProbeTime
		*before = condition
	}
	return merged
}
