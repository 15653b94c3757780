package replication

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
)

// deletePods deletes pods of an object, one after the other, but those that the server refuses to delete.
func (m *ReplicationManager) deletePods(ctx context.Context, s *set, surplus []*corev1.Pod) error {
	_, err := controller.EachUnlessRefused(ctx, surplus, func(pod *corev1.Pod) (cache.Expectation, error) {
		if err := m.lookAhead(s); err != nil {
			return nil, err
		}
		return m.pods.ShowsDeleted(pod), m.deletePod(ctx, s, pod)
	})
	return err
}

// deletePod deletes a pod. One that is gone is no error.
func (m *ReplicationManager) deletePod(ctx context.Context, s *set, pod *corev1.Pod) error {
	err := m.Client.In(pod.Namespace).Pods().Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	switch {
	case err == nil:
		m.Recorder.Eventf(s.Object, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil
	case clientv1.IsAnswer(err):
		m.Recorder.Eventf(s.Object, corev1.EventTypeWarning, failedDelete, "Error deleting: %s", err)
		err = failure{failedDelete, err}
	}
	return err
}
