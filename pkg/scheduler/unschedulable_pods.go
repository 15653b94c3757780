package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/util/pods"
)

const (
	// A pod that fits nowhere is tried again after a pause that begins with minPause, and doubles
	// with each failure up to maxPause. When something has changed that may help, minPause is enough.
	minPause = time.Second
	maxPause = time.Minute
	// eventPause is the time between two events with the same reason.
	eventPause = 5 * time.Minute
)

// unschedulablePods are the pods that fit nowhere for now. It is safe for concurrent use.
type unschedulablePods struct {
	retry func(key string) // is called, in the order in which the pods came

	mu      sync.Mutex // guards what follows
	pods    map[string]*unschedulablePod
	came    int    // how many pods so far
	changes uint64 // how often something has changed that may help
}

type unschedulablePod struct {
	uid        types.UID
	number     int // by which it came
	failures   int
	tried      time.Time
	timer      *time.Timer // for the next time
	soon       bool        // that is minPause after the last one, or now
	reported   string      // the reason in the last event
	reportedAt time.Time
}

func newUnschedulablePods(retry func(key string)) *unschedulablePods {
	return &unschedulablePods{retry: retry, pods: map[string]*unschedulablePod{}}
}

// now returns the argument of add. The caller gets it before it tries the pod, so that no change is
// missed.
func (w *unschedulablePods) now() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}

// add adds a pod that has just been tried, and why it fits nowhere. It reports whether the reason
// needs an event.
func (w *unschedulablePods) add(key string, uid types.UID, why string, since uint64) (needsEvent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pod := w.pods[key]
	if pod == nil || pod.uid != uid {
		w.removeLocked(key)
		w.came++
		pod = &unschedulablePod{uid: uid, number: w.came}
		w.pods[key] = pod
	}
	now := time.Now()
	pause := min(minPause<<min(pod.failures, 10), maxPause)
	if since != w.changes {
		pause = minPause
	}
	pod.tried, pod.soon = now, pause == minPause
	pod.failures++
	w.wait(key, pod, pause)
	if needsEvent = why != pod.reported || now.Sub(pod.reportedAt) >= eventPause; needsEvent {
		pod.reported, pod.reportedAt = why, now
	}
	return needsEvent
}

// wait retries a pod after a pause.
func (w *unschedulablePods) wait(key string, pod *unschedulablePod, pause time.Duration) {
	if pod.timer != nil {
		pod.timer.Stop()
	}
	pod.timer = time.AfterFunc(pause, func() {
		w.mu.Lock()
		pod.soon = true
		w.mu.Unlock()
		w.retry(key)
	})
}

// changed retries all pods, because something has changed that may help.
func (w *unschedulablePods) changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
	now := time.Now()
	var due []string
	for key, pod := range w.pods {
		if pod.soon {
			continue
		}
		pod.soon = true
		if left := minPause - now.Sub(pod.tried); left > 0 {
			w.wait(key, pod, left)
			continue
		}
		pod.timer.Stop()
		due = append(due, key)
	}
	slices.SortFunc(due, func(a, b string) int { return cmp.Compare(w.pods[a].number, w.pods[b].number) })
	for _, key := range due {
		w.retry(key)
	}
}

// remove removes a pod that is placed, or gone.
func (w *unschedulablePods) remove(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removeLocked(key)
}

func (w *unschedulablePods) removeLocked(key string) {
	if pod := w.pods[key]; pod != nil {
		pod.timer.Stop()
		delete(w.pods, key)
	}
}

// unschedulable lets a pod that fits nowhere wait, and reports why.
func (s *Scheduler) unschedulable(ctx context.Context, pod *corev1.Pod, why string, since uint64) error {
	if s.unschedulablePods.add(cache.Key(pod), pod.UID, why, since) {
		s.config.Recorder.Eventf(pod, corev1.EventTypeWarning, "FailedScheduling", "%s", why)
	}
	patch := patchFor(pod, why, metav1.Now())
	if patch == nil {
		return nil
	}
	_, err := s.config.Client.In(pod.Namespace).Pods().Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // it is gone, or has changed: the informer will show it
		return nil
	}
	return err
}

// patchFor returns a patch that says in the status of a pod why it is not placed, nil if the status
// says so already.
func patchFor(pod *corev1.Pod, why string, now metav1.Time) []byte {
	next := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why,
		ObservedGeneration: pod.Generation, LastTransitionTime: now}
	if last := pods.Condition(pod.Status.Conditions, next.Type); last != nil && last.Status == next.Status {
		next.LastTransitionTime, next.LastProbeTime = last.LastTransitionTime, last.LastProbeTime
		if *last == next {
			return nil
		}
	}
	type object = map[string]interface{}
	patch, _ := json.Marshal(object{ // it cannot fail: all of it is strings and numbers
		"metadata": object{"resourceVersion": pod.ResourceVersion}, // it may have a node by now
		"status":   object{"conditions": []corev1.PodCondition{next}},
	})
	return patch
}
