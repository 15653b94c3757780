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
	"kube2014/pkg/util/pods"
)

// claim adopts the pods that a controller selects and that have no controller, or a deleted one of the
// same name. It releases its own that it does not select any more. After an error, the number of its
// pods is unknown.
func (m *ReplicationManager) claim(ctx context.Context, rc *corev1.ReplicationController) error {
	adopted, released := m.claims(rc)
	if len(adopted)+len(released) == 0 {
		return nil
	}
	if err := m.confirm(ctx, rc); err != nil {
		return err
	}
	var expected []cache.Expectation
	for _, pod := range released {
		patched, err := m.patchOwners(ctx, pod, withoutOwner(pod.OwnerReferences, rc.UID))
		if err != nil {
			return err
		}
		expected = append(expected, m.pods.Shows(patched))
	}
	for _, pod := range adopted {
		owners := withoutOwner(pod.OwnerReferences, rc.UID)
		if deleted := metav1.GetControllerOf(pod); deleted != nil {
			owners = withoutOwner(owners, deleted.UID)
		}
		owners = append(owners, controllerReference(rc))
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
func (m *ReplicationManager) claims(rc *corev1.ReplicationController) (adopted, released []*corev1.Pod) {
	for _, pod := range m.pods.Store().ByIndex(orphanIndex, rc.Namespace) {
		if isActive(pod) && pods.Selects(rc.Spec.Selector, pod.Labels) {
			adopted = append(adopted, pod)
		}
	}
	for _, pod := range m.pods.Store().ByIndex(ownerNameIndex, cache.Key(rc)) { // as kubectl replace --force leaves them
		if metav1.GetControllerOfNoCopy(pod).UID != rc.UID && isActive(pod) && pods.Selects(rc.Spec.Selector, pod.Labels) {
			adopted = append(adopted, pod)
		}
	}
	for _, pod := range m.pods.Store().ByIndex(ownerIndex, string(rc.UID)) {
		if pod.Namespace == rc.Namespace && isActive(pod) && !pods.Selects(rc.Spec.Selector, pod.Labels) {
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
func controllerReference(rc *corev1.ReplicationController) metav1.OwnerReference {
	return *metav1.NewControllerRef(rc, corev1.SchemeGroupVersion.WithKind("ReplicationController"))
}
