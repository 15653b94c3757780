package kubelet

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/envvars"
	"kube2014/pkg/kubelet/objects"
	"kube2014/pkg/kubelet/volumemanager"
)

// neededBy returns what the containers of a pod need of the server when they start.
func neededBy(pod *corev1.Pod) objects.References {
	needed := volumemanager.References(pod)
	needed.AddEnvironment(pod)
	return needed
}

// startAll starts containers, or lets fetch first what they need.
func (w *podWorker) startAll(numbers []int, now time.Time) {
	if len(numbers) == 0 {
		return
	}
	starting := make([]*container, len(numbers))
	for i, number := range numbers {
		starting[i] = w.containers[number]
	}
	if !w.objects.HasAll(neededBy(w.pod)) {
		isFirst := slices.ContainsFunc(starting, func(c *container) bool { return c.problem == nil })
		if w.objects.Request(isFirst, now) {
			w.k.reports.Add(w.key)
		}
		return
	}
	from := w.source()
	volumes, failures := w.volumes.SetUp(from)
	for _, failure := range failures {
		w.k.event(w.pod, corev1.EventTypeWarning, "FailedMount", failure)
	}
	succeeded := failures == nil
	for _, c := range starting {
		if failures != nil {
			c.problem = &problem{}
		} else {
			succeeded = w.start(c, from, volumes) && succeeded
		}
	}
	if retry := w.objects.Started(volumemanager.References(w.pod), succeeded, now); retry > 0 {
		w.k.reports.AddAfter(w.key, retry)
	}
}

// source returns what the environments and volumes of the containers are made from.
func (w *podWorker) source() envvars.Source {
	return envvars.Source{Pod: w.pod, NodeIP: w.k.Address, PodIP: w.podIP(), Capacity: w.k.Capacity, Objects: w.objects.Objects}
}

// fetch fetches what the containers need, if it is due. The error is that of a server that cannot
// answer now.
func (w *podWorker) fetch(ctx context.Context, now time.Time) error {
	w.mu.Lock()
	pod, due := w.pod, w.objects.Due()
	w.mu.Unlock()
	if due.IsZero() {
		return nil
	}
	if wait := due.Sub(now); wait > 0 {
		w.k.reports.AddAfter(w.key, wait) // it may have come earlier, for the status
		return nil
	}
	fetched, err := objects.Fetch(ctx, w.k.Client.In(pod.Namespace), neededBy(pod))
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects.Set(fetched)
	w.k.pods.Add(w.key)
	return nil
}
