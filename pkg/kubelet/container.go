package kubelet

import (
	"fmt"
	"strings"
	"time"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/lifecycle"
	"kube2014/pkg/util/pods"

	corev1 "k8s.io/api/core/v1"
)

// container is a container of a pod, through all its starts. Its worker's mutex guards it.
type container struct {
	lifecycle.Container
	name string // unique in the pod

	problem  *problem      // why it could not be started when that was last tried; nil for nothing
	before   cri.Container // the start before Run; nil for none
	begun    bool          // Run was seen running
	exited   bool          // Run, or Ended, was seen exited
	stopping bool          // Run was stopped
	backOff  time.Duration // the pause before the last start
	probes   []*probe
	hooks    *hooks // nil unless Run was seen running, and has some
}

// problem is why a container cannot start. With an empty reason it waits for its pod.
type problem struct{ reason, message string }

// containersOf returns the containers of a pod, the init containers first, and the ephemeral ones last.
func containersOf(pod *corev1.Pod) []*container {
	var all []*container
	names := map[string]bool{}
	add := func(n int, of lifecycle.Kind) {
		for i := range n {
			c := &container{Container: lifecycle.Container{Kind: of, Index: i}}
			c.Refer(pod)
			c.name = c.Spec.Name
			if c.name == "" || names[c.name] { // of a task of 2014
				c.name = strings.TrimPrefix(fmt.Sprintf("%s-%d", c.Spec.Name, i), "-")
			}
			if of == lifecycle.InitContainer && pods.IsSidecar(c.Spec) {
				c.Kind = lifecycle.Sidecar
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

const (
	containerCreating = "ContainerCreating"
	podInitializing   = "PodInitializing"
)
