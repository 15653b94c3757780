package kubelet

import (
	"math"
	"time"

	"kube2014/pkg/kubelet/cri"

	corev1 "k8s.io/api/core/v1"
)

// isLeaving reports whether the pod must end.
func (w *podWorker) isLeaving() bool { return w.pod.DeletionTimestamp != nil }

// grace returns how long the containers have to end when the pod must end.
func (w *podWorker) grace() time.Duration {
	seconds := w.pod.DeletionGracePeriodSeconds
	if !w.isLeaving() || seconds == nil {
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
		if c.run != nil && !c.exited {
			w.stop(c, 0, "Stopping container "+c.name)
			exited = exited && c.phase() == cri.Exited
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
		if c.run != nil {
			c.run.Stop(0)
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
