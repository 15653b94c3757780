package controller

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// errStale says that what the informers show is too old to decide on.
var errStale = errors.New("the objects have changed meanwhile")

// orAgain looks again at a controller after a while if the error is only that another client was
// faster. All other errors are returned.
func (m *ReplicationManager) orAgain(key string, err error) error {
	if errors.Is(err, errStale) || apierrors.IsConflict(err) {
		m.queue.AddAfter(key, againPause)
		return nil
	}
	return err
}

// isActive reports whether a pod counts: one that has ended, or is being deleted, does not.
func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// ownedBy returns those active pods that belong to a controller.
func ownedBy(rc *corev1.ReplicationController, pods []*corev1.Pod) []*corev1.Pod {
	var mine []*corev1.Pod
	for _, pod := range pods {
		if isActive(pod) && metav1.IsControlledBy(pod, rc) {
			mine = append(mine, pod)
		}
	}
	return mine
}

// claim returns the active pods of a controller. It adopts those that the selector selects and
// that have no controller, and releases its own that it selects no more. After an error nobody
// knows whose the pods are.
func (m *ReplicationManager) claim(ctx context.Context, rc *corev1.ReplicationController, pods []*corev1.Pod) (mine []*corev1.Pod, err error) {
	checked := false
	for _, pod := range pods {
		owner, selected := metav1.GetControllerOfNoCopy(pod), selects(rc, pod)
		switch {
		case !isActive(pod):
		case owner == nil && selected:
			if !checked {
				if err := m.check(ctx, rc); err != nil {
					return nil, err
				}
				checked = true
			}
			adopted, err := m.own(ctx, pod, append(slices.Clone(pod.OwnerReferences), *referenceToOwner(rc)))
			if err != nil {
				return nil, err
			}
			mine = append(mine, adopted...)
		case owner == nil || owner.UID != rc.UID:
		case selected:
			mine = append(mine, pod)
		default:
			others := slices.DeleteFunc(slices.Clone(pod.OwnerReferences), func(owner metav1.OwnerReference) bool { return owner.UID == rc.UID })
			if _, err := m.own(ctx, pod, others); err != nil {
				return nil, err
			}
		}
	}
	return mine, nil
}

// check asks the server whether a controller is still there, before it adopts.
func (m *ReplicationManager) check(ctx context.Context, rc *corev1.ReplicationController) error {
	current, err := m.config.Client.In(rc.Namespace).ReplicationControllers().Get(ctx, rc.Name)
	switch {
	case apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return err
	case current.UID != rc.UID || current.DeletionTimestamp != nil:
		return errStale
	}
	return nil
}

// own sets the owners of a pod, unless it has changed since. It returns the pod, or none if it has
// gone.
func (m *ReplicationManager) own(ctx context.Context, pod *corev1.Pod, owners []metav1.OwnerReference) ([]*corev1.Pod, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion, "ownerReferences": owners,
	}})
	if err != nil {
		return nil, err
	}
	owned, err := m.config.Client.In(pod.Namespace).Pods().Patch(ctx, pod.Name, types.MergePatchType, patch)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []*corev1.Pod{owned}, nil
}

// referenceToOwner returns what a pod says of the controller that it belongs to.
func referenceToOwner(rc *corev1.ReplicationController) *metav1.OwnerReference {
	return metav1.NewControllerRef(rc, corev1.SchemeGroupVersion.WithKind(controllerKind))
}
