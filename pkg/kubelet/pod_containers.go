package kubelet

import (
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/envvars"
	"kube2014/pkg/kubelet/lifecycle"
	"kube2014/pkg/kubelet/volumemanager"
)

// start starts a container, for the first time or again. It reports whether it could be: if not, the container
// waits for another try.
func (w *podWorker) start(c *container, from envvars.Source, volumes map[string]volumemanager.Volume) bool {
	pod := w.pod
	w.k.event(pod, corev1.EventTypeNormal, "Pulled", fmt.Sprintf("Container image %q already present on machine", c.Spec.Image))
	spec, err := w.configure(c, from, volumes)
	if err != nil {
		c.problem = &problem{"CreateContainerConfigError", err.Error()}
		w.k.event(pod, corev1.EventTypeWarning, "Failed", "Error: "+err.Error())
		return false
	}
	c.problem = nil
	if c.Phase() == cri.Exited {
		w.leave(c)
		c.Last, c.before = c.Terminated(), c.Run
		c.Attempt++
		if !c.Changed {
			c.backOff = lifecycle.NextBackOff(c.backOff)
		}
	}
	c.Ended, c.Changed, c.stopping, c.begun, c.exited = nil, false, false, false, false
	c.Ready, c.Started = c.Spec.ReadinessProbe == nil, c.Spec.StartupProbe == nil
	w.k.event(pod, corev1.EventTypeNormal, "Created", "Created container: "+c.name)
	spec.Attempt = c.Attempt
	c.Run = w.k.Runtime.Start(spec)
	return true
}

// configure returns what a container is started from.
func (w *podWorker) configure(c *container, from envvars.Source, volumes map[string]volumemanager.Volume) (cri.Spec, error) {
	spec := cri.Spec{
		Pod: w.pod, Name: c.name, Init: c.Kind == lifecycle.InitContainer, Node: w.k.Name, HostIP: w.k.Address,
		Changed: func() { w.k.pods.Add(w.key) },
		Warn:    func(reason, message string) { w.k.warn(w.key, reason, message) },
	}
	if w.ip.IsValid() {
		spec.PodIP = w.ip.String()
	}
	environment, err := from.Environment(c.Spec)
	if err == nil {
		spec.Env = environment.List()
		spec.Container, err = environment.ExpandCommand(c.Spec)
	}
	if err == nil {
		err = volumemanager.Mount(&spec, c.Spec, volumes, environment)
	}
	return spec, err
}

// stop begins to stop a container, after its hook.
func (w *podWorker) stop(c *container, grace time.Duration, message string) {
	if !c.stopping {
		c.stopping = true
		w.k.event(w.pod, corev1.EventTypeNormal, "Killing", message)
		w.startPreStop(c, grace)
	}
	if !c.awaitsPreStop(grace) {
		c.Run.Stop(grace)
	}
}

// notice handles changes of the state of a container.
func (w *podWorker) notice(c *container, now time.Time) {
	phase := c.Phase()
	if ranByItself := phase == cri.Exited && c.Run != nil && !c.stopping; (phase == cri.Running || ranByItself) && !c.begun {
		c.begun = true
		w.k.event(w.pod, corev1.EventTypeNormal, "Started", "Started container "+c.name)
		w.startHooks(c)
		w.startProbes(c, now)
	}
	if phase != cri.Exited || c.exited {
		return
	}
	c.exited = true
	c.stopProbes()
	c.endHooks()
	if c.Run == nil || c.Changed {
		c.Due = now
		return
	}
	state := c.Run.State()
	if state.FinishedAt.Sub(state.StartedAt) >= lifecycle.SteadyTime {
		c.backOff = 0
	}
	c.Due = state.FinishedAt.Add(c.backOff)
	if c.backOff > 0 && c.View(w.pod).Restarts && !w.isTerminating() {
		w.k.event(w.pod, corev1.EventTypeWarning, "BackOff", fmt.Sprintf("Back-off restarting failed container %s in pod %s_%s(%s)",
			c.name, w.pod.Name, w.pod.Namespace, w.pod.UID))
	}
}

// refer sets the definitions of the containers to those of the newest pod, so that older pods are
// garbage.
func (w *podWorker) refer() {
	for _, c := range w.containers {
		c.Refer(w.pod)
	}
}

// redefine takes over the changed definitions of the pod, such as after a PUT of a task, which may
// change all of them. A container with another name is another container.
func (w *podWorker) redefine() {
	there := map[string]*container{}
	for _, c := range w.containers {
		there[c.name] = c
	}
	w.containers = containersOf(w.pod)
	for i, c := range w.containers {
		before := there[c.name]
		if before == nil || before.Kind != c.Kind {
			continue
		}
		delete(there, c.name)
		w.containers[i] = before
		if !isSame(before.Spec, c.Spec) {
			w.replace(before)
		}
		before.Spec, before.Index = c.Spec, c.Index
	}
	for _, gone := range there {
		if gone.Run != nil && gone.Phase() != cri.Exited {
			w.stop(gone, 0, "Stopping container "+gone.name)
		}
		gone.stopProbes()
		gone.endHooks()
		w.leave(gone)
	}
}

// isSame reports whether a container need not be restarted. Its resources can change while it runs.
func isSame(before, now *corev1.Container) bool {
	a, b := *before, *now
	a.Resources, b.Resources = corev1.ResourceRequirements{}, corev1.ResourceRequirements{}
	return equality.Semantic.DeepEqual(a, b)
}

// replace restarts a container with its new definition.
func (w *podWorker) replace(c *container) {
	switch c.Phase() {
	case cri.Created, cri.Running:
		c.Changed = true
		w.stop(c, w.grace(), fmt.Sprintf("Container %s definition changed, will be restarted", c.name))
	case cri.Exited:
		c.Due = time.Time{} // if it restarts, it may now
	}
}

// isTerminating reports whether the pod must end.
func (w *podWorker) isTerminating() bool { return w.pod.DeletionTimestamp != nil }

// grace returns how long the containers have to end when the pod must end.
func (w *podWorker) grace() time.Duration {
	seconds := w.pod.DeletionGracePeriodSeconds
	if !w.isTerminating() || seconds == nil {
		seconds = w.pod.Spec.TerminationGracePeriodSeconds
	}
	if seconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return inSeconds(*seconds)
}

// inSeconds returns a number of seconds. One that would not fit is 68 years.
func inSeconds(number int64) time.Duration {
	return time.Duration(min(number, math.MaxInt32)) * time.Second
}

// remove ends the containers at once: the pod is gone. It reports whether they have ended.
func (w *podWorker) remove() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	exited := true
	for _, c := range w.containers {
		w.notice(c, time.Now())
		if c.Run != nil && !c.exited {
			w.stop(c, 0, "Stopping container "+c.name)
			exited = exited && c.Phase() == cri.Exited
		}
	}
	if exited {
		w.stopProbes()
		if w.ip.IsValid() {
			w.k.addresses.giveBack(w.ip)
		}
	}
	return exited
}

// kill ends the containers because the kubelet ends.
func (w *podWorker) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.containers {
		if c.Run != nil {
			c.Run.Stop(0)
		}
	}
	w.stopProbes()
}

// stopProbes stops all probes and hooks.
func (w *podWorker) stopProbes() {
	for _, c := range w.containers {
		c.stopProbes()
		c.endHooks()
	}
}
