package kubelet

import (
	"context"
	"math/rand/v2"
	"time"

	"kube2014/pkg/kubelet/lifecycle"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reportPause is the least pause before a retry if the server cannot be reached. The longest is
// twice that.
const reportPause = 5 * time.Second

// report fetches what a pod needs, writes its status, and deletes it if it was to end and has ended.
func (k *Kubelet) report(ctx context.Context, key string) error {
	w := k.worker(key)
	if w == nil {
		return nil
	}
	err := w.fetch(ctx, time.Now())
	if err == nil {
		err = w.reportStatus(ctx)
	}
	if err == nil {
		err = w.reportEnd(ctx)
	}
	if k.outage.Note(ctx, err) {
		k.reports.AddAfter(key, reportPause+rand.N(reportPause)) // no secret
		return nil
	}
	return err
}

// reportStatus writes the status if the server has another one.
func (w *podWorker) reportStatus(ctx context.Context) error {
	for {
		pod, status, wasTerminated := w.toReport()
		pods := w.k.Client.In(pod.Namespace).Pods()
		merged := lifecycle.MergeStatus(pod.Status, status, metav1.Now())
		if wasTerminated || equality.Semantic.DeepEqual(merged, pod.Status) {
			return nil
		}
		update := *pod
		update.Status = merged
		written, err := pods.UpdateStatus(ctx, &update)
		isConflict := apierrors.IsConflict(err)
		if isConflict {
			written, err = pods.Get(ctx, pod.Name)
		}
		if apierrors.IsNotFound(err) || err == nil && written.UID != w.uid {
			return nil // the informer will say so
		}
		if err != nil {
			return err
		}
		w.learn(written)
		if !isConflict {
			return nil // even if the server does not keep all of it
		}
	}
}

func (w *podWorker) toReport() (pod *corev1.Pod, status corev1.PodStatus, wasTerminated bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod, w.status, w.wasTerminated
}

// learn updates the pod from an answer of the server.
func (w *podWorker) learn(pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.see(pod)
}

// reportEnd deletes a pod that was to end, and has. A finalizer may keep it after that.
func (w *podWorker) reportEnd(ctx context.Context) error {
	w.mu.Lock()
	isDue, pod := w.isTerminating() && w.terminated && !w.gone, w.pod
	w.mu.Unlock()
	if !isDue {
		return nil
	}
	err := w.k.Client.In(pod.Namespace).Pods().Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &w.uid},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // it is gone, or another one is there
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	return nil
}
