package replication

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/util/pods"
)

// deletePods deletes pods of a controller, one after the other, until the server refuses one.
func (m *ReplicationManager) deletePods(ctx context.Context, rc *corev1.ReplicationController, surplus []*corev1.Pod) error {
	var expected []cache.Expectation
	var failed error
	for _, pod := range surplus {
		if failed = m.lookAhead(rc); failed != nil {
			break
		}
		if failed = m.deletePod(ctx, rc, pod); failed != nil {
			break
		}
		expected = append(expected, m.pods.ShowsDeleted(pod))
	}
	if err := cache.Await(ctx, expected...); err != nil {
		return err
	}
	return failed
}

// deletePod deletes a pod. One that is gone is no error.
func (m *ReplicationManager) deletePod(ctx context.Context, rc *corev1.ReplicationController, pod *corev1.Pod) error {
	err := m.config.Client.In(pod.Namespace).Pods().Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	switch {
	case err == nil:
		m.config.Recorder.Eventf(rc, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case isAnswer(err):
		m.config.Recorder.Eventf(rc, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %s", err)
	}
	return err
}

// victims returns the pods of a controller to delete first.
func victims(active []*corev1.Pod, count int) []*corev1.Pod {
	slices.SortFunc(active, compareLoss)
	return active[:count]
}

// compareLoss is negative if a should be deleted before b.
func compareLoss(a, b *corev1.Pod) int {
	return cmp.Or(
		compareTruth(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phaseRank(a), phaseRank(b)),
		compareTruth(readyCondition(a) != nil, readyCondition(b) != nil),
		readySince(b).Compare(readySince(a)), // the later one first
		cmp.Compare(mostRestarts(b), mostRestarts(a)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		strings.Compare(a.Name, b.Name),
	)
}

// compareTruth sorts false before true.
func compareTruth(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func phaseRank(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	}
	return 0
}

// readyCondition returns the condition Ready of a pod if it is true, else nil.
func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	if ready := pods.Condition(pod.Status.Conditions, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		return ready
	}
	return nil
}

// readySince returns since when a pod is ready; the zero time if it is not, or does not say.
func readySince(pod *corev1.Pod) time.Time {
	if condition := readyCondition(pod); condition != nil {
		return condition.LastTransitionTime.Time
	}
	return time.Time{}
}

func mostRestarts(pod *corev1.Pod) (most int32) {
	for _, container := range pod.Status.ContainerStatuses {
		most = max(most, container.RestartCount)
	}
	return most
}
