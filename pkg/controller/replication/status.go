package replication

import (
	"context"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/client/cache"
)

// updateStatus writes the status of a controller, if that has changed, and waits until the cache shows
// it. Otherwise the server would refuse the next update.
func (m *ReplicationManager) updateStatus(ctx context.Context, rc *corev1.ReplicationController) error {
	status, next := replicationStatus(rc, m.activePods(rc), time.Now())
	if next > 0 {
		m.queue.AddAfter(cache.Key(rc), next)
	}
	if reflect.DeepEqual(status, rc.Status) {
		return nil
	}
	updated := rc.DeepCopy()
	updated.Status = status
	written, err := m.config.Client.In(rc.Namespace).ReplicationControllers().UpdateStatus(ctx, updated)
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return err
	}
	return cache.Await(ctx, m.controllers.Shows(written))
}

// replicationStatus returns the status of a controller with those pods, and the time until the next
// one of them becomes available; 0: none.
func replicationStatus(rc *corev1.ReplicationController, active []*corev1.Pod, now time.Time) (status corev1.ReplicationControllerStatus, next time.Duration) {
	status = corev1.ReplicationControllerStatus{Replicas: int32(len(active)), ObservedGeneration: rc.Generation, Conditions: rc.Status.Conditions}
	template := labels.SelectorFromSet(rc.Spec.Template.Labels)
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if readyCondition(pod) == nil {
			continue
		}
		status.ReadyReplicas++
		since := readySince(pod)
		wait := time.Duration(rc.Spec.MinReadySeconds)*time.Second - now.Sub(since)
		switch {
		case rc.Spec.MinReadySeconds == 0 || !since.IsZero() && wait <= 0:
			status.AvailableReplicas++
		case !since.IsZero() && (next == 0 || wait < next):
			next = wait
		}
	}
	return status, next
}
