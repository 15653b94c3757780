package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	_, err := Each(ctx, slices.Collect(maps.Keys(owners)), func(object T) (Expectation, error) {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": object.GetUID(), "resourceVersion": object.GetResourceVersion(), "ownerReferences": owners[object],
		}})
		if err != nil {
			return nil, err
		}
		patched, err := resource.Patch(ctx, object.GetName(), types.MergePatchType, patch)
		return Shows(informer, patched), OrStale(err)
	})
	return err
}

// Claims returns other owners for what an object of a kind adopts, and for its own that it releases because it does not select it
// any more. Only objects that count change hands.
func Claims[T interface {
	comparable
	metav1.Object
}](store *cache.Store[T], owner metav1.Object, kind schema.GroupVersionKind, counts, selects func(T) bool) map[T][]metav1.OwnerReference {
	owners := map[T][]metav1.OwnerReference{}
	for _, object := range store.ByIndex(cache.OrphanIndex, owner.GetNamespace()) {
		if counts(object) && selects(object) {
			owners[object] = append(WithoutOwner(object.GetOwnerReferences(), owner.GetUID()), *metav1.NewControllerRef(owner, kind))
		}
	}
	for _, object := range OwnedBy(store, owner) {
		if counts(object) && !selects(object) {
			owners[object] = WithoutOwner(object.GetOwnerReferences(), owner.GetUID())
		}
	}
	return owners
}

// WithoutOwner returns all references but those to a uid.
func WithoutOwner(owners []metav1.OwnerReference, uid types.UID) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(owners), func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}

// OwnedBy returns the objects of a copy with a cache.OwnerIndex that an object controls. One in another namespace only says so.
func OwnedBy[T metav1.Object](store *cache.Store[T], owner metav1.Object) []T {
	return slices.DeleteFunc(store.ByIndex(cache.OwnerIndex, string(owner.GetUID())), func(object T) bool {
		return object.GetNamespace() != owner.GetNamespace()
	})
}

// KeyOfOwner returns a cache.IndexFunc: the key of an object's controller, if that is of a kind, in any version.
func KeyOfOwner[T metav1.Object](kind schema.GroupVersionKind) cache.IndexFunc[T] {
	return func(object T) []string {
		owner := metav1.GetControllerOfNoCopy(object)
		if owner == nil || owner.Kind != kind.Kind {
			return nil
		}
		if version, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || version.Group != kind.Group {
			return nil
		}
		return []string{cache.KeyOf(object.GetNamespace(), owner.Name)}
	}
}

// CompareAge is negative if a was created before b.
func CompareAge[T metav1.Object](a, b T) int {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(a.GetName(), b.GetName()))
}
