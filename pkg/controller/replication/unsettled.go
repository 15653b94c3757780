package replication

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clientv1 "kube2014/pkg/client/v1"
)

// noteAnswer records the result of a request to create a pod of an object. A refusal says nothing
// about an earlier request for the same pod: a quota may be full because of that.
func (m *ReplicationManager) noteAnswer(s *set, pod string, err error) {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		m.unsettled.Delete(s.GetUID())
	case !clientv1.IsRefusal(err):
		m.unsettled.Store(s.GetUID(), pod)
	}
}

// unsettledOf returns the name of the last requested pod if it is unknown whether it was created, or
// nothing.
func (m *ReplicationManager) unsettledOf(s *set) string {
	if name, exists := m.unsettled.Load(s.GetUID()); exists {
		return name.(string)
	}
	return ""
}
