package printers

import (
	"cmp"
	"fmt"
	"strconv"

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

// summary is the state of a pod as kubectl get shows it.
type summary struct {
	ready, containers int
	status            string
	restarts          restarts
}

// summaryOf begins with the status of the pod. The state of the first init container that is not
// done, or else of the containers, replaces it. The end of the pod replaces that.
func summaryOf(pod *corev1.Pod) summary {
	s := summary{containers: len(pod.Spec.Containers), status: cmp.Or(pod.Status.Reason, string(pod.Status.Phase))}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated {
			s.status = corev1.PodReasonSchedulingGated
		}
	}
	if s.addInitContainers(pod) {
		s.addContainers(pod)
	}
	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == "NodeLost":
			s.status = "Unknown"
		case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
			s.status = "Terminating"
		}
	}
	return s
}

// addInitContainers adds the init containers up to the first that is not done. It reports whether
// all are done, or were once: then only the restarts of sidecars count, and those of containers.
func (s *summary) addInitContainers(pod *corev1.Pod) bool {
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if sidecars[container.Name] = pods.IsSidecar(container); sidecars[container.Name] {
			s.containers++
		}
	}
	var all, ofSidecars restarts
	done := true
	for i := 0; done && i < len(pod.Status.InitContainerStatuses); i++ {
		container := pod.Status.InitContainerStatuses[i]
		all.add(container)
		if sidecars[container.Name] {
			ofSidecars.add(container)
		}
		done = s.initialized(container, sidecars[container.Name], i, len(pod.Spec.InitContainers))
	}
	if done || isTrue(pod, corev1.PodInitialized) {
		s.restarts = ofSidecars
		return true
	}
	s.restarts = all
	return false
}

// initialized reports whether an init container lets the next one start. If not, it sets the status
// of the pod.
func (s *summary) initialized(container corev1.ContainerStatus, isSidecar bool, index, count int) bool {
	ended, waiting := container.State.Terminated, container.State.Waiting
	switch {
	case ended != nil && ended.ExitCode == 0:
		return true
	case isSidecar && container.Started != nil && *container.Started:
		if container.Ready {
			s.ready++
		}
		return true
	case ended != nil:
		s.status = "Init:" + end(ended)
	case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
		s.status = "Init:" + waiting.Reason
	default:
		s.status = fmt.Sprintf("Init:%d/%d", index, count)
	}
	return false
}

// addContainers adds the containers in reverse order, so that the status is that of the first one
// that waits or has ended. A completed container does not hide one that runs or failed.
func (s *summary) addContainers(pod *corev1.Pod) {
	running, failure := false, ""
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		container := pod.Status.ContainerStatuses[i]
		s.restarts.add(container)
		ended, waiting := container.State.Terminated, container.State.Waiting
		switch {
		case waiting != nil && waiting.Reason != "":
			s.status = waiting.Reason
		case ended != nil:
			s.status = end(ended)
			if ended.ExitCode != 0 {
				failure = s.status
			}
		case container.Ready && container.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.status != "Completed" {
		return
	}
	switch {
	case running && isTrue(pod, corev1.PodReady):
		s.status = "Running"
	case failure != "":
		s.status = failure
	case running:
		s.status = "NotReady"
	}
}

// end returns the reason why a container ended.
func end(ended *corev1.ContainerStateTerminated) string {
	switch {
	case ended.Reason != "":
		return ended.Reason
	case ended.Signal != 0:
		return fmt.Sprintf("Signal:%d", ended.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", ended.ExitCode)
}

// restarts counts the restarts of containers.
type restarts struct {
	count int
	last  metav1.Time // zero if it is unknown
}

func (r *restarts) add(container corev1.ContainerStatus) {
	r.count += int(container.RestartCount)
	if ended := container.LastTerminationState.Terminated; ended != nil && r.last.Before(&ended.FinishedAt) {
		r.last = ended.FinishedAt
	}
}

func (r restarts) cell() any {
	if r.count == 0 || r.last.IsZero() {
		return strconv.Itoa(r.count)
	}
	return Ago{strconv.Itoa(r.count) + " (", r.last.Time, " ago)"}
}
