package replication

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
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
	var expected []cache.Expectation
	for _, pod := range released {
		patched, err := m.patchOwners(ctx, pod, withoutOwner(pod.OwnerReferences, s.GetUID()))
		if err != nil {
			return err
		}
		expected = append(expected, m.pods.Shows(patched))
	}
	for _, pod := range adopted {
		owners := withoutOwner(pod.OwnerReferences, s.GetUID())
		if deleted := metav1.GetControllerOf(pod); deleted != nil {
			owners = withoutOwner(owners, deleted.UID)
		}
		owners = append(owners, m.controllerReference(s))
		patched, err := m.patchOwners(ctx, pod, owners)
		if err != nil {
			return err
		}
		expected = append(expected, m.pods.Shows(patched))
	}
	return cache.Await(ctx, expected...)
}

// claims returns the pods that a controller must adopt, and those that it must release. Pods that are
// being deleted, or have ended, stay as they are.
func (m *ReplicationManager) claims(s *set) (adopted, released []*corev1.Pod) {
	for _, pod := range m.pods.Store().ByIndex(orphanIndex, s.GetNamespace()) {
		if isActive(pod) && s.selects(pod) {
			adopted = append(adopted, pod)
		}
	}
	for _, pod := range m.pods.Store().ByIndex(m.ownerNameIndex, cache.Key(s)) { // as kubectl replace --force leaves them
		if metav1.GetControllerOfNoCopy(pod).UID != s.GetUID() && isActive(pod) && s.selects(pod) {
			adopted = append(adopted, pod)
		}
	}
	for _, pod := range m.pods.Store().ByIndex(ownerIndex, string(s.GetUID())) {
		if pod.Namespace == s.GetNamespace() && isActive(pod) && !s.selects(pod) {
			released = append(released, pod)
		}
	}
	return adopted, released
}

// patchOwners sets the owners of a pod, if the cache has its newest version.
func (m *ReplicationManager) patchOwners(ctx context.Context, pod *corev1.Pod, owners []metav1.OwnerReference) (*corev1.Pod, error) {
	patch, err := json.Marshal(map[string]interface{}{"metadata": map[string]interface{}{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion, "ownerReferences": owners,
	}})
	if err != nil {
		return nil, err
	}
	patched, err := m.config.Client.In(pod.Namespace).Pods().Patch(ctx, pod.Name, types.MergePatchType, patch)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil, errStale
	}
	return patched, err
}

// withoutOwner returns all references but those to a uid.
func withoutOwner(owners []metav1.OwnerReference, uid types.UID) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(owners), func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}

// controllerReference refers to the controller of a pod.
func (m *ReplicationManager) controllerReference(s *set) metav1.OwnerReference {
	return *metav1.NewControllerRef(s, m.kind.versionKind())
}
