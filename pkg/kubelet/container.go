package kubelet

import (
	"fmt"
	"strings"
	"time"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/lifecycle"
	"kube2014/pkg/util/pods"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// container is a container of a pod, through all its starts. Its worker's mutex guards it.
type container struct {
	name  string // unique in the pod
	index int    // in its list of the pod's spec
	spec  *corev1.Container
	kind  lifecycle.Kind

	problem *problem                         // why it could not be started when that was last tried; nil for nothing
	run     cri.Container                    // nil before the first start
	before  cri.Container                    // the start before run; nil for none
	ended   *corev1.ContainerStateTerminated // how it ended before this kubelet came; nil since it was started
	last    *corev1.ContainerStateTerminated // how the start before ended
	attempt int32                            // how often it was started again
	imageID string

	begun    bool          // run was seen running
	exited   bool          // run, or ended, was seen exited
	stopping bool          // run was stopped
	changed  bool          // its definition is another one: it starts again, whatever the policy
	backOff  time.Duration // the pause before the last start
	due      time.Time     // when it may start again
	ready    bool          // by its readiness probe
	started  bool          // by its startup probe
	probes   []*probe
	hooks    *hooks // nil unless run was seen running, and has some
}

// problem is why a container cannot start. With an empty reason it waits for its pod.
type problem struct{ reason, message string }

// containersOf returns the containers of a pod, the init containers first, and the ephemeral ones last.
func containersOf(pod *corev1.Pod) []*container {
	var all []*container
	names := map[string]bool{}
	add := func(n int, of lifecycle.Kind) {
		for i := range n {
			c := &container{index: i, kind: of}
			c.refer(pod)
			c.name = c.spec.Name
			if c.name == "" || names[c.name] { // of a task of 2014
				c.name = strings.TrimPrefix(fmt.Sprintf("%s-%d", c.spec.Name, i), "-")
			}
			if of == lifecycle.InitContainer && pods.IsSidecar(c.spec) {
				c.kind = lifecycle.Sidecar
			}
			names[c.name] = true
			all = append(all, c)
		}
	}
	add(len(pod.Spec.InitContainers), lifecycle.InitContainer)
	add(len(pod.Spec.Containers), lifecycle.MainContainer)
	add(len(pod.Spec.EphemeralContainers), lifecycle.EphemeralContainer)
	return all
}

// refer sets the definition of the container to that in a pod.
func (c *container) refer(pod *corev1.Pod) {
	switch c.kind {
	case lifecycle.MainContainer:
		c.spec = &pod.Spec.Containers[c.index]
	case lifecycle.EphemeralContainer:
		c.spec = (*corev1.Container)(&pod.Spec.EphemeralContainers[c.index].EphemeralContainerCommon)
	default:
		c.spec = &pod.Spec.InitContainers[c.index]
	}
}

// statuses returns where the status of the container is in that of its pod.
func (c *container) statuses(s *corev1.PodStatus) *[]corev1.ContainerStatus {
	switch c.kind {
	case lifecycle.MainContainer:
		return &s.ContainerStatuses
	case lifecycle.EphemeralContainer:
		return &s.EphemeralContainerStatuses
	}
	return &s.InitContainerStatuses
}

// restore takes over the status from before this kubelet started. The container does not run any more,
// whatever the status says.
func (c *container) restore(status *corev1.ContainerStatus, now time.Time) {
	c.attempt, c.imageID = status.RestartCount, status.ImageID
	switch state := status.State; {
	case state.Terminated != nil:
		c.ended, c.last = state.Terminated, status.LastTerminationState.Terminated
	case state.Running != nil:
		c.last = status.LastTerminationState.Terminated
		c.ended = &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the kubelet started",
			StartedAt: state.Running.StartedAt, FinishedAt: stamp(now), ContainerID: status.ContainerID,
		}
	default: // it waited to start again
		c.ended = status.LastTerminationState.Terminated
	}
}

// phase returns how far the container has come.
func (c *container) phase() cri.Phase {
	switch {
	case c.run != nil:
		return c.run.State().Phase
	case c.ended != nil:
		return cri.Exited
	}
	return ""
}

// terminated returns how the container has ended.
func (c *container) terminated() *corev1.ContainerStateTerminated {
	if c.run == nil {
		return c.ended
	}
	state := c.run.State()
	t := &corev1.ContainerStateTerminated{
		ExitCode: state.ExitCode, Reason: state.Reason, Message: state.Message, ContainerID: state.ID,
		StartedAt: stamp(state.StartedAt), FinishedAt: stamp(state.FinishedAt),
	}
	if t.Reason == "" && t.ExitCode == 0 {
		t.Reason = "Completed"
	} else if t.Reason == "" {
		t.Reason = "Error"
	}
	if t.Message == "" && t.ExitCode != 0 && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		t.Message = logEnd(c.run)
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
func (c *container) policy(pod *corev1.Pod) corev1.RestartPolicy {
	if c.spec.RestartPolicy != nil {
		return corev1.RestartPolicy(*c.spec.RestartPolicy)
	}
	return pod.Spec.RestartPolicy
}

// view returns what decisions about the container depend on.
func (c *container) view(pod *corev1.Pod) lifecycle.View {
	v := lifecycle.View{Kind: c.kind, Phase: c.phase(), Due: c.due, Started: c.started, Ran: c.last != nil}
	if v.Phase == cri.Running {
		v.Blocked = c.run.State().Blocked
	}
	if v.Phase == cri.Exited {
		v.Failed = c.terminated().ExitCode != 0
		v.Restarts = c.changed || lifecycle.RestartsAfter(c.policy(pod), c.kind, v.Failed)
	}
	return v
}

// status returns the container's status. A container that has not begun to run has waits as its
// reason.
func (c *container) status(view lifecycle.View, waits string) corev1.ContainerStatus {
	isStarted := view.Phase == cri.Running && c.started
	s := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: c.imageID, RestartCount: c.attempt, Started: &isStarted,
		Ready: isStarted && c.ready && view.Blocked == "",
	}
	if c.kind == lifecycle.InitContainer {
		s.Ready = view.Phase == cri.Exited && !view.Failed
	}
	if c.kind == lifecycle.EphemeralContainer {
		s.Ready, s.Started = false, nil
	}
	s.LastTerminationState.Terminated = c.last
	var state cri.State
	if c.run != nil {
		state = c.run.State()
		s.ContainerID, s.ImageID = state.ID, state.ImageID
	}
	switch {
	case view.Phase == cri.Running:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: stamp(state.StartedAt)}
		wanted := &c.spec.Resources // is given at once. That this is told lets clients resize the pod
		s.Resources = &corev1.ResourceRequirements{Requests: wanted.Requests, Limits: wanted.Limits}
		s.AllocatedResources = wanted.Requests
	case view.Phase == "", view.Phase == cri.Created:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: waits}
		s.ContainerID = ""
	default:
		s.State.Terminated = c.terminated()
		s.ContainerID = s.State.Terminated.ContainerID
	}
	return s
}

// crashLoop is the problem of a container that waits for its next start.
func (c *container) crashLoop(pod *corev1.Pod) *problem {
	return &problem{"CrashLoopBackOff",
		fmt.Sprintf("back-off %v restarting failed container=%s pod=%s_%s(%s)", c.backOff, c.name, pod.Name, pod.Namespace, pod.UID)}
}

// show shows a container that cannot start.
func (p *problem) show(s *corev1.ContainerStatus) {
	if s.State.Terminated != nil {
		s.LastTerminationState.Terminated = s.State.Terminated
	}
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: p.reason, Message: p.message}}
}

// stamp returns a time in the precision of the API: whole seconds.
func stamp(t time.Time) metav1.Time {
	return metav1.Time{Time: t.UTC()}.Rfc3339Copy()
}

const (
	containerCreating = "ContainerCreating"
	podInitializing   = "PodInitializing"
)
