package controller

import (
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// noteAnswer notes what is known of a request that created a pod of a controller. That it is refused
// says nothing of an earlier one for the same pod: a quota may be full by that.
func (m *ReplicationManager) noteAnswer(rc *corev1.ReplicationController, pod string, err error) {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		m.unsettled.Delete(rc.UID)
	case !isRefusedForGood(err):
		m.unsettled.Store(rc.UID, pod)
	}
}

// unsettledOf returns the name of the pod that was asked for last if nobody knows whether it was
// made, or nothing.
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

// isRefusedForGood reports whether an error says that the server has not done what it was asked,
// and will not.
func isRefusedForGood(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code/100 == 4 && code != http.StatusRequestTimeout
}
