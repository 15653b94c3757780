package controller

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
)

// SetOwners gives objects of a copy other owners, one after the other, and waits until the copy shows them. The error is
// ErrStale if the server has another version of one; then some have their owners, and others have not.
func SetOwners[T interface {
	comparable
	clientv1.Object
}](ctx context.Context, resource clientv1.Resource[T], informer *cache.SharedInformer[T], owners map[T][]metav1.OwnerReference) error {
	var expected []cache.Expectation
	for object, references := range owners {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": object.GetUID(), "resourceVersion": object.GetResourceVersion(), "ownerReferences": references,
		}})
		if err != nil {
			return err
		}
		patched, err := resource.Patch(ctx, object.GetName(), types.MergePatchType, patch)
		if err != nil {
			return OrStale(err)
		}
		expected = append(expected, informer.Shows(patched))
	}
	return cache.Await(ctx, expected...)
}

// WithoutOwner returns all references but those to a uid.
func WithoutOwner(owners []metav1.OwnerReference, uid types.UID) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(owners), func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}
