package replication

import (
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
	"kube2014/pkg/util/pods"
)

// The reasons of events and of conditions.
const (
	failedCreate = "FailedCreate"
	failedDelete = "FailedDelete"
)

// failure is the server's refusal to create or delete a pod. The status tells of it.
type failure struct {
	reason string
	error
}

func (f failure) Unwrap() error { return f.error }

// updateStatus writes the status of an object, after its pods were managed with a result.
func (m *ReplicationManager) updateStatus(ctx context.Context, s *set, managed error) error {
	now := time.Now()
	status, next := statusOf(s, m.ownPods(s), now)
	if next > 0 {
		m.Queue.AddAfter(cache.Key(s), next)
	}
	status.Conditions = conditionsAfter(managed, s.status.Conditions, now)
	return m.adapter.writeStatus(ctx, s, status)
}

// statusOf returns the status of an object with those pods, without conditions, and the time until the next one of them
// becomes available; 0: none.
func statusOf(s *set, own []*corev1.Pod, now time.Time) (status appsv1.ReplicaSetStatus, next time.Duration) {
	status = appsv1.ReplicaSetStatus{ObservedGeneration: s.GetGeneration(), TerminatingReplicas: new(int32)}
	template := labels.SelectorFromSet(s.template.Labels)
	for _, pod := range own {
		if !controller.IsActive(pod) {
			if !pods.HasEnded(pod) {
				*status.TerminatingReplicas++
			}
			continue
		}
		status.Replicas++
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if controller.ReadyCondition(pod) == nil {
			continue
		}
		status.ReadyReplicas++
		since := readySince(pod)
		wait := s.minReady - now.Sub(since)
		switch {
		case s.minReady == 0 || !since.IsZero() && wait <= 0:
			status.AvailableReplicas++
		case !since.IsZero() && (next == 0 || wait < next):
			next = wait
		}
	}
	return status, next
}

// conditionsAfter returns the conditions of an object. A failure is told as it was first, until nothing fails. Any other
// error says nothing of it.
func conditionsAfter(managed error, before []appsv1.ReplicaSetCondition, now time.Time) []appsv1.ReplicaSetCondition {
	isFailure := func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure }
	var refused failure
	switch {
	case managed == nil:
		return slices.DeleteFunc(slices.Clone(before), isFailure)
	case errors.As(managed, &refused) && !slices.ContainsFunc(before, isFailure):
		return append(slices.Clone(before), appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now), Reason: refused.reason, Message: refused.Error()})
	}
	return before
}
