package replication

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clientv1 "kube2014/pkg/client/v1"
)

// noteAnswer records the result of a request to create a pod of a controller. A refusal says nothing
// about an earlier request for the same pod: a quota may be full because of that.
func (m *ReplicationManager) noteAnswer(rc *corev1.ReplicationController, pod string, err error) {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		m.unsettled.Delete(rc.UID)
	case !clientv1.IsRefusal(err):
		m.unsettled.Store(rc.UID, pod)
	}
}

// unsettledOf returns the name of the last requested pod if it is unknown whether it was created, or
// nothing.
func (m *ReplicationManager) unsettledOf(rc *corev1.ReplicationController) string {
	if name, exists := m.unsettled.Load(rc.UID); exists {
		return name.(string)
	}
	return ""
}

// isAnswer reports whether an error is what the server answered.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}
