package kubelet

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/lifecycle"
	"kube2014/pkg/kubelet/objects"
	"kube2014/pkg/kubelet/volumemanager"
	"kube2014/pkg/util/pods"
)

// podWorker runs a pod.
type podWorker struct {
	k   *Kubelet
	key string
	uid types.UID
	ip  netip.Addr // invalid if the pod has none of its own

	mu         sync.Mutex  // guards what follows
	pod        *corev1.Pod // as it was last seen; shared
	containers []*container
	status     corev1.PodStatus // as it should be; replaced, never changed
	objects    objects.Manager  // that the containers need
	volumes    volumemanager.Manager
	used       float64 // by earlier runs of its containers, in seconds of one core

	// A pod is terminating when it was deleted at the server, or has exceeded its deadline: then its containers are stopped. It is
	// terminated when none of them will run again. If it was deleted, the server is told then that it may go.
	deadlineExceeded bool
	terminated       bool
	wasTerminated    bool // before this kubelet started
	gone             bool // the server was told
}

// newWorker begins to run a pod. Of an earlier kubelet only the status is left that it reported.
func (k *Kubelet) newWorker(key string, pod *corev1.Pod, now time.Time) *podWorker {
	w := &podWorker{k: k, key: key, uid: pod.UID, pod: pod, containers: containersOf(pod), status: pod.Status}
	if pods.HasEnded(pod) {
		w.wasTerminated, w.terminated = true, true
		return w
	}
	for _, c := range w.containers {
		statuses := *c.Statuses(&pod.Status)
		if c.Index < len(statuses) && statuses[c.Index].Name == c.Spec.Name {
			c.Restore(&statuses[c.Index], now)
		}
	}
	if !pod.Spec.HostNetwork {
		if w.ip = k.addresses.take(); !w.ip.IsValid() && k.PodCIDR.IsValid() {
			k.event(pod, corev1.EventTypeWarning, "NoPodAddress", fmt.Sprintf("All addresses of %s are taken: the pod has that of its machine", k.PodCIDR))
		}
	}
	if pod.Status.StartTime == nil {
		started := lifecycle.Stamp(now)
		w.status.StartTime = &started
	}
	return w
}

// sync starts and stops containers as the pod wants, and reports whether there is news for the server.
func (w *podWorker) sync(pod *corev1.Pod, now time.Time) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.see(pod)
	if w.wasTerminated {
		return w.isTerminating() && !w.gone
	}
	for _, c := range w.containers {
		w.notice(c, now)
	}
	views := w.views()
	p := w.decide(views, now)
	for _, i := range p.Stop {
		w.stop(w.containers[i], w.grace(), "Stopping container "+w.containers[i].name)
	}
	w.startAll(p.Start, now)
	w.terminated = p.Terminated
	w.status = w.makeStatus(w.views(), p, now)
	if !p.Wake.IsZero() {
		w.k.pods.AddAfter(w.key, p.Wake.Sub(now))
	}
	return w.isTerminating() && w.terminated && !w.gone || !w.isKnown(now)
}

const (
	deadlineExceeded = "DeadlineExceeded"
	pastDeadline     = "Pod was active on the node longer than the specified deadline"
)

// decide returns what to do.
func (w *podWorker) decide(views []lifecycle.View, now time.Time) lifecycle.Plan {
	deadline := w.pod.Spec.ActiveDeadlineSeconds
	var expires time.Time
	if deadline != nil {
		expires = w.status.StartTime.Add(inSeconds(*deadline))
		if !w.deadlineExceeded && !w.terminated && !expires.After(now) {
			w.deadlineExceeded = true
			w.k.event(w.pod, corev1.EventTypeNormal, deadlineExceeded, pastDeadline)
		}
	}
	if w.isTerminating() || w.deadlineExceeded {
		return lifecycle.EndPlan(views)
	}
	p := lifecycle.MakePlan(views, now)
	if deadline != nil && !p.Terminated && (p.Wake.IsZero() || expires.Before(p.Wake)) {
		p.Wake = expires
	}
	return p
}

// see updates the pod to a newer version.
func (w *podWorker) see(pod *corev1.Pod) {
	if pod == w.pod || isOlder(pod, w.pod) {
		return
	}
	before := w.pod
	w.pod = pod
	if equality.Semantic.DeepEqual(before.Spec, pod.Spec) {
		w.refer()
	} else {
		w.redefine()
	}
	if !equality.Semantic.DeepEqual(before.Annotations, pod.Annotations) {
		for _, c := range w.containers {
			if c.Run != nil {
				c.Run.Update(pod)
			}
		}
	}
}

// isOlder reports whether a version of a pod is older than another one. The informer may be later
// than the answer to a write.
func isOlder(pod, than *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, than.ResourceVersion)
	return err == nil && order < 0
}

// views returns the views of all containers.
func (w *podWorker) views() []lifecycle.View {
	views := make([]lifecycle.View, len(w.containers))
	for i, c := range w.containers {
		views[i] = c.View(w.pod)
	}
	return views
}

// makeStatus returns the status of the pod.
func (w *podWorker) makeStatus(views []lifecycle.View, p lifecycle.Plan, now time.Time) corev1.PodStatus {
	s := corev1.PodStatus{
		ObservedGeneration: w.pod.Generation, StartTime: w.status.StartTime,
		HostIP: w.k.Address, HostIPs: []corev1.HostIP{{IP: w.k.Address}},
		PodIP: w.podIP(), PodIPs: []corev1.PodIP{{IP: w.podIP()}},
	}
	for i, c := range w.containers {
		status := c.Status(views[i], w.waits())
		switch isLast := p.Terminated || w.isTerminating(); {
		case isLast:
		case views[i].Phase == cri.Exited && views[i].Restarts && c.Due.After(now):
			c.crashLoop(w.pod).show(&status)
		case c.problem != nil && c.problem.reason != "":
			c.problem.show(&status)
		}
		statuses := c.Statuses(&s)
		*statuses = append(*statuses, status)
	}
	s.Phase = lifecycle.PodPhase(views, p)
	if w.deadlineExceeded {
		s.Reason, s.Message = deadlineExceeded, pastDeadline
		if p.Terminated {
			s.Phase = corev1.PodFailed
		}
	}
	s.Conditions = lifecycle.Conditions(w.pod, &s, views, p)
	return s
}

// podIP returns the pod's address: the machine's if it has none of its own.
func (w *podWorker) podIP() string {
	if w.ip.IsValid() {
		return w.ip.String()
	}
	return w.k.Address
}

// isKnown reports whether the server has the pod's status.
func (w *podWorker) isKnown(now time.Time) bool {
	return equality.Semantic.DeepEqual(lifecycle.MergeStatus(w.pod.Status, w.status, metav1.Time{Time: now}), w.pod.Status)
}
