package replication

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
)

// deletePods deletes pods of an object, one after the other, until the server refuses one.
func (m *ReplicationManager) deletePods(ctx context.Context, s *set, surplus []*corev1.Pod) error {
	var expected []cache.Expectation
	var failed error
	for _, pod := range surplus {
		if failed = m.lookAhead(s); failed != nil {
			break
		}
		if failed = m.deletePod(ctx, s, pod); failed != nil {
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
func (m *ReplicationManager) deletePod(ctx context.Context, s *set, pod *corev1.Pod) error {
	err := m.config.Client.In(pod.Namespace).Pods().Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	switch {
	case err == nil:
		m.config.Recorder.Eventf(s.Object, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case clientv1.IsAnswer(err):
		m.config.Recorder.Eventf(s.Object, corev1.EventTypeWarning, failedDelete, "Error deleting: %s", err)
		err = failure{failedDelete, err}
	}
	return err
}
