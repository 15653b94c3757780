package printers

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var (
	podSpecDoc   = corev1.PodSpec{}.SwaggerDoc()
	podStatusDoc = corev1.PodStatus{}.SwaggerDoc()
)

// Pods prints *corev1.Pod. The row of one that has ended says so in a condition.
var Pods = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Ready", "The aggregate readiness state of this pod for accepting traffic."),
		text("Status", "The aggregate status of the containers in this pod."),
		text("Restarts", "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted."),
		ageColumn,
		wide(text("IP", podStatusDoc["podIP"])),
		wide(text("Node", podSpecDoc["nodeName"])),
		wide(text("Nominated Node", podStatusDoc["nominatedNodeName"])),
		wide(text("Readiness Gates", podSpecDoc["readinessGates"])),
	},
	Cells:      of(podCells),
	conditions: ended,
}

func podCells(pod *corev1.Pod, now time.Time) []any {
	seen := look(pod)
	ip := pod.Status.PodIP
	if ip == "" && len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return []any{
		pod.Name,
		fmt.Sprintf("%d/%d", seen.ready, seen.containers),
		seen.status,
		seen.restarts.text(now),
		since(pod.CreationTimestamp.Time, now),
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
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ended marks the rows of pods that ran to their end, so that they can be shown as less
// important.
func ended(object runtime.Object) []metav1.TableRowCondition {
	message := map[corev1.PodPhase]string{
		corev1.PodSucceeded: "The pod has completed successfully.",
		corev1.PodFailed:    "The pod failed.",
	}
	phase := object.(*corev1.Pod).Status.Phase
	if message[phase] == "" {
		return nil
	}
	return []metav1.TableRowCondition{{
		Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(phase), Message: message[phase],
	}}
}
