package replication

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

// claim adopts the pods that a controller selects and that have no controller, or a deleted one of the
// same name. It releases its own that it does not select any more. After an error, the number of its
// pods is unknown.
func (m *ReplicationManager) claim(ctx context.Context, s *set) error {
	adopted, released := m.claims(s)
	if len(adopted)+len(released) == 0 {
		return nil
	}
	if err := m.confirm(ctx, s); err != nil {
		return err
	}
	owners := map[*corev1.Pod][]metav1.OwnerReference{}
	for _, pod := range released {
		owners[pod] = controller.WithoutOwner(pod.OwnerReferences, s.GetUID())
	}
	for _, pod := range adopted {
		others := controller.WithoutOwner(pod.OwnerReferences, s.GetUID())
		if deleted := metav1.GetControllerOf(pod); deleted != nil {
			others = controller.WithoutOwner(others, deleted.UID)
		}
		owners[pod] = append(others, m.controllerReference(s))
	}
	return controller.SetOwners(ctx, m.Client.In(s.GetNamespace()).Pods().Resource, m.pods, owners)
}

// claims returns the pods that a controller must adopt, and those that it must release. Pods that are
// being deleted, or have ended, stay as they are.
func (m *ReplicationManager) claims(s *set) (adopted, released []*corev1.Pod) {
	for _, pod := range m.pods.Store().ByIndex(cache.OrphanIndex, s.GetNamespace()) {
		if controller.IsActive(pod) && s.selects(pod) {
			adopted = append(adopted, pod)
		}
	}
	for _, pod := range m.pods.Store().ByIndex(m.ownerNameIndex, cache.Key(s)) { // as kubectl replace --force leaves them
		if metav1.GetControllerOfNoCopy(pod).UID != s.GetUID() && controller.IsActive(pod) && s.selects(pod) {
			adopted = append(adopted, pod)
		}
	}
	for _, pod := range controller.OwnedBy(m.pods.Store(), s) {
		if controller.IsActive(pod) && !s.selects(pod) {
			released = append(released, pod)
		}
	}
	return adopted, released
}

// controllerReference refers to the controller of a pod.
func (m *ReplicationManager) controllerReference(s *set) metav1.OwnerReference {
	return *metav1.NewControllerRef(s, m.kind.versionKind())
}
