package printers

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/util/pods"
)

// Pods prints *corev1.Pod. The row of a pod that has ended has a condition.
var Pods = Printer{Columns: table[corev1.Pod](name,
	text("Ready", "", "The aggregate readiness state of this pod for accepting traffic."),
	text("Status", "", "The aggregate status of the containers in this pod."),
	text("Restarts", "", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."), age,
	wide(text("IP", "status.podIP")), wide(text("Node", "spec.nodeName")), wide(text("Nominated Node", "status.nominatedNodeName")),
	wide(text("Readiness Gates", "spec.readinessGates"))).Columns, Cells: of(podCells), conditions: ended}

func podCells(pod *corev1.Pod) []any {
	s := summaryOf(pod)
	ip := pod.Status.PodIP
	if ip == "" && len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return []any{
		pod.Name,
		fmt.Sprintf("%d/%d", s.ready, s.containers),
		s.status,
		s.restarts.cell(),
		since(pod.CreationTimestamp.Time),
		cmp.Or(ip, "<none>"),
		cmp.Or(pod.Spec.NodeName, "<none>"),
		cmp.Or(pod.Status.NominatedNodeName, "<none>"),
		readinessGates(pod),
	}
}

func readinessGates(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	open := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if isTrue(pod, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(pod.Spec.ReadinessGates))
}

// isTrue reports whether the first condition of a type is true.
func isTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	condition := pods.Condition(pod.Status.Conditions, kind)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

// ended returns the condition of the row of a pod that has ended, so that a client can gray it out.
func ended(object runtime.Object) []metav1.TableRowCondition {
	phase := object.(*corev1.Pod).Status.Phase
	message := map[corev1.PodPhase]string{corev1.PodSucceeded: "The pod has completed successfully.", corev1.PodFailed: "The pod failed."}[phase]
	if message == "" {
		return nil
	}
	return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(phase), Message: message}}
}
