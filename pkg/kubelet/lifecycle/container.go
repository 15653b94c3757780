package lifecycle

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/kubelet/cri"
)

// Container is a container of a pod, through all its starts, as its view and its status tell of it.
type Container struct {
	Kind  Kind
	Index int // in its list of the pod's spec
	Spec  *corev1.Container

	Run     cri.Container                    // nil before the first start
	Ended   *corev1.ContainerStateTerminated // how it ended before this kubelet came; nil since it was started
	Last    *corev1.ContainerStateTerminated // how the start before ended
	Attempt int32                            // how often it was started again
	ImageID string

	Changed bool      // its definition is another one: it starts again, whatever the policy
	Due     time.Time // when it may start again
	Ready   bool      // by its readiness probe
	Started bool      // by its startup probe
}

// Refer sets the definition of the container to that in a pod.
func (c *Container) Refer(pod *corev1.Pod) {
	switch c.Kind {
	case MainContainer:
		c.Spec = &pod.Spec.Containers[c.Index]
	case EphemeralContainer:
		c.Spec = (*corev1.Container)(&pod.Spec.EphemeralContainers[c.Index].EphemeralContainerCommon)
	default:
		c.Spec = &pod.Spec.InitContainers[c.Index]
	}
}

// Statuses returns where the status of the container is in that of its pod.
func (c *Container) Statuses(s *corev1.PodStatus) *[]corev1.ContainerStatus {
	switch c.Kind {
	case MainContainer:
		return &s.ContainerStatuses
	case EphemeralContainer:
		return &s.EphemeralContainerStatuses
	}
	return &s.InitContainerStatuses
}

// Restore takes over the status from before this kubelet started. The container does not run any more,
// whatever the status says.
func (c *Container) Restore(status *corev1.ContainerStatus, now time.Time) {
	c.Attempt, c.ImageID = status.RestartCount, status.ImageID
	switch state := status.State; {
	case state.Terminated != nil:
		c.Ended, c.Last = state.Terminated, status.LastTerminationState.Terminated
	case state.Running != nil:
		c.Last = status.LastTerminationState.Terminated
		c.Ended = &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the kubelet started",
			StartedAt: state.Running.StartedAt, FinishedAt: Stamp(now), ContainerID: status.ContainerID,
		}
	default: // it waited to start again
		c.Ended = status.LastTerminationState.Terminated
	}
}

// Phase returns how far the container has come.
func (c *Container) Phase() cri.Phase {
	switch {
	case c.Run != nil:
		return c.Run.State().Phase
	case c.Ended != nil:
		return cri.Exited
	}
	return ""
}

// Terminated returns how the container has ended.
func (c *Container) Terminated() *corev1.ContainerStateTerminated {
	if c.Run == nil {
		return c.Ended
	}
	state := c.Run.State()
	t := &corev1.ContainerStateTerminated{
		ExitCode: state.ExitCode, Reason: state.Reason, Message: state.Message, ContainerID: state.ID,
		StartedAt: Stamp(state.StartedAt), FinishedAt: Stamp(state.FinishedAt),
	}
	if t.Reason == "" && t.ExitCode == 0 {
		t.Reason = "Completed"
	} else if t.Reason == "" {
		t.Reason = "Error"
	}
	if t.Message == "" && t.ExitCode != 0 && c.Spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		t.Message = logEnd(c.Run)
	}
	return t
}

// logEnd returns the end of a container's log, as today: 80 lines or 2 KiB at most.
func logEnd(run cri.Container) string {
	const maxLines, maxBytes = 80, 2 << 10
	lines, _, _ := run.Log(0)
	var text strings.Builder
	for _, line := range lines[max(len(lines)-maxLines, 0):] {
		text.WriteString(line.Text + "\n")
	}
	end := text.String()
	return strings.ToValidUTF8(end[max(len(end)-maxBytes, 0):], "")
}

// policy returns the restart policy of the container: its own, or else that of its pod.
func (c *Container) policy(pod *corev1.Pod) corev1.RestartPolicy {
	if c.Spec.RestartPolicy != nil {
		return corev1.RestartPolicy(*c.Spec.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

// View returns what decisions about the container depend on.
func (c *Container) View(pod *corev1.Pod) View {
	v := View{Kind: c.Kind, Phase: c.Phase(), Due: c.Due, Started: c.Started, Ran: c.Last != nil}
	if v.Phase == cri.Running {
		v.Blocked = c.Run.State().Blocked
	}
	if v.Phase == cri.Exited {
		v.Failed = c.Terminated().ExitCode != 0
		v.Restarts = c.Changed || RestartsAfter(c.policy(pod), c.Kind, v.Failed)
	}
	return v
}

// Status returns the container's status. A container that has not begun to run has waits as its
// reason.
func (c *Container) Status(view View, waits string) corev1.ContainerStatus {
	isStarted := view.Phase == cri.Running && c.Started
	s := corev1.ContainerStatus{
		Name: c.Spec.Name, Image: c.Spec.Image, ImageID: c.ImageID, RestartCount: c.Attempt, Started: &isStarted,
		Ready: isStarted && c.Ready && view.Blocked == "",
	}
	if c.Kind == InitContainer {
		s.Ready = view.Phase == cri.Exited && !view.Failed
	}
	if c.Kind == EphemeralContainer {
		s.Ready, s.Started = false, nil
	}
	s.LastTerminationState.Terminated = c.Last
	var state cri.State
	if c.Run != nil {
		state = c.Run.State()
		s.ContainerID, s.ImageID = state.ID, state.ImageID
	}
	switch {
	case view.Phase == cri.Running:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: Stamp(state.StartedAt)}
		wanted := &c.Spec.Resources // is given at once. That this is told lets clients resize the pod
		s.Resources = &corev1.ResourceRequirements{Requests: wanted.Requests, Limits: wanted.Limits}
		s.AllocatedResources = wanted.Requests
	case view.Phase == "", view.Phase == cri.Created:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: waits}
		s.ContainerID = ""
	default:
		s.State.Terminated = c.Terminated()
		s.ContainerID = s.State.Terminated.ContainerID
	}
	return s
}

// Stamp returns a time in the precision of the API: whole seconds.
func Stamp(t time.Time) metav1.Time {
	return metav1.Time{Time: t.UTC()}.Rfc3339Copy()
}
