package controller

import (
	"context"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/client/cache"
)

// updateStatus writes how many pods a controller has, if that has changed, and the problem that
// there was with making or deleting some.
func (m *ReplicationManager) updateStatus(ctx context.Context, rc *corev1.ReplicationController, mine []*corev1.Pod, problem error) error {
	status, next := makeStatus(rc, mine, problem, time.Now())
	if next > 0 {
		m.queue.AddAfter(cache.Key(rc), next)
	}
	if equality.Semantic.DeepEqual(status, rc.Status) {
		return nil
	}
	changed := rc.DeepCopy()
	changed.Status = status
	_, err := m.config.Client.In(rc.Namespace).ReplicationControllers().UpdateStatus(ctx, changed)
	if apierrors.IsNotFound(err) { // the informer will show that
		return nil
	}
	return err
}

// makeStatus counts a controller's pods, and returns after how long to count again because one
// will be available then; 0 for none.
func makeStatus(rc *corev1.ReplicationController, mine []*corev1.Pod, problem error, now time.Time) (status corev1.ReplicationControllerStatus, next time.Duration) {
	status = *rc.Status.DeepCopy()
	status.Replicas, status.ObservedGeneration = int32(len(mine)), rc.Generation
	status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0
	full := labels.Everything()
	if rc.Spec.Template != nil {
		full = labels.SelectorFromValidatedSet(rc.Spec.Template.Labels)
	}
	next = math.MaxInt64
	for _, pod := range mine {
		if full.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if isReady(pod) {
			status.ReadyReplicas++
		}
		if wait := availableIn(pod, rc.Spec.MinReadySeconds, now); wait == 0 {
			status.AvailableReplicas++
		} else {
			next = min(next, wait)
		}
	}
	if next == math.MaxInt64 {
		next = 0
	}
	setFailure(&status, problem, now, len(mine) < wanted(rc))
	return status, next
}

// setFailure sets the condition that pods cannot be made, or deleted.
func setFailure(status *corev1.ReplicationControllerStatus, problem error, now time.Time, missing bool) {
	isFailure := func(condition corev1.ReplicationControllerCondition) bool {
		return condition.Type == corev1.ReplicationControllerReplicaFailure
	}
	at := slices.IndexFunc(status.Conditions, isFailure)
	switch {
	case problem == nil:
		status.Conditions = slices.DeleteFunc(status.Conditions, isFailure)
	case at < 0 && wasRefused(problem):
		reason := "FailedDelete"
		if missing {
			reason = "FailedCreate"
		}
		status.Conditions = append(status.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerReplicaFailure, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now), Reason: reason, Message: problem.Error(),
		})
	}
}
