package replication

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

// claim adopts the pods that a controller selects and that have no controller, or a deleted one of the
// same name. It releases its own that it does not select any more. Pods that are being deleted, or have ended, stay as they
// are. After an error, the number of its pods is unknown.
func (m *ReplicationManager) claim(ctx context.Context, s *set) error {
	owners := controller.Claims(m.pods.Store(), s, m.kind.versionKind(), controller.IsActive, s.selects)
	for _, pod := range m.pods.Store().ByIndex(m.ownerNameIndex, cache.Key(s)) { // as kubectl replace --force leaves them
		if deleted := metav1.GetControllerOfNoCopy(pod).UID; deleted != s.GetUID() && controller.IsActive(pod) && s.selects(pod) {
			others := controller.WithoutOwner(controller.WithoutOwner(pod.OwnerReferences, s.GetUID()), deleted)
			owners[pod] = append(others, m.controllerReference(s))
		}
	}
	if len(owners) == 0 {
		return nil
	}
	if err := m.confirm(ctx, s); err != nil {
		return err
	}
	return controller.SetOwners(ctx, m.Client.In(s.GetNamespace()).Pods().Resource, m.pods, owners)
}

// controllerReference refers to the controller of a pod.
func (m *ReplicationManager) controllerReference(s *set) metav1.OwnerReference {
	return *metav1.NewControllerRef(s, m.kind.versionKind())
}
