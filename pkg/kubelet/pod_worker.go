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
	status     corev1.PodStatus       // as it should be; replaced, never changed
	inputs     *inputs                // nil if the containers need nothing of the server
	shared     map[string]*cri.Volume // that containers have written to, by name
	used       float64                // by earlier runs of its containers, in seconds of one core
	over       bool                   // no container will run again
	ended      bool                   // it was over before this kubelet started
	expired    bool                   // it has exceeded its deadline
	deleted    bool                   // the pod was deleted from the server
}

// newWorker begins to run a pod. Of an earlier kubelet only the status is left that it reported.
func (k *Kubelet) newWorker(key string, pod *corev1.Pod, now time.Time) *podWorker {
	w := &podWorker{k: k, key: key, uid: pod.UID, pod: pod, containers: containersOf(pod), status: pod.Status}
	if pods.HasEnded(pod) {
		w.ended, w.over = true, true
		return w
	}
	for _, c := range w.containers {
		statuses := *c.statuses(&pod.Status)
		if c.index < len(statuses) && statuses[c.index].Name == c.spec.Name {
			c.restore(&statuses[c.index], now)
		}
	}
	if !pod.Spec.HostNetwork {
		if w.ip = k.addresses.take(); !w.ip.IsValid() && k.PodCIDR.IsValid() {
			k.event(pod, corev1.EventTypeWarning, "NoPodAddress", fmt.Sprintf("All addresses of %s are taken: the pod has that of its machine", k.PodCIDR))
		}
	}
	if pod.Status.StartTime == nil {
		started := stamp(now)
		w.status.StartTime = &started
	}
	return w
}

// sync starts and stops containers as the pod wants, and reports whether there is news for the server.
func (w *podWorker) sync(pod *corev1.Pod, now time.Time) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.see(pod)
	if w.ended {
		return w.isLeaving() && !w.deleted
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
	w.over = p.Over
	w.status = w.makeStatus(w.views(), p, now)
	if !p.Wake.IsZero() {
		w.k.pods.AddAfter(w.key, p.Wake.Sub(now))
	}
	return w.isLeaving() && w.over && !w.deleted || !w.isKnown(now)
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
		if !w.expired && !w.over && !expires.After(now) {
			w.expired = true
			w.k.event(w.pod, corev1.EventTypeNormal, deadlineExceeded, pastDeadline)
		}
	}
	if w.isLeaving() || w.expired {
		return lifecycle.EndPlan(views)
	}
	p := lifecycle.MakePlan(views, now)
	if deadline != nil && !p.Over && (p.Wake.IsZero() || expires.Before(p.Wake)) {
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
			if c.run != nil {
				c.run.Update(pod)
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
		views[i] = c.view(w.pod)
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
		status := c.status(views[i], w.waits())
		switch isLast := p.Over || w.isLeaving(); {
		case isLast:
		case views[i].Phase == cri.Exited && views[i].Restarts && c.due.After(now):
			c.crashLoop(w.pod).show(&status)
		case c.problem != nil && c.problem.reason != "":
			c.problem.show(&status)
		}
		statuses := c.statuses(&s)
		*statuses = append(*statuses, status)
	}
	s.Phase = lifecycle.PodPhase(views, p)
	if w.expired {
		s.Reason, s.Message = deadlineExceeded, pastDeadline
		if p.Over {
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
