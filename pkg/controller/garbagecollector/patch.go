package garbagecollector

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// retryPause is the pause before a retry after a conflict.
	retryPause = 50 * time.Millisecond
	// unknownPause is the pause before another look for an owner of an unknown kind.
	unknownPause = time.Minute
)

// patch replaces metadata of an object that is as it was read, and returns it as it is then.
func (gc *GarbageCollector) patch(ctx context.Context, n *node, object *metav1.PartialObjectMetadata, change map[string]any) (*metav1.PartialObjectMetadata, error) {
	change["uid"], change["resourceVersion"] = n.uid, object.ResourceVersion
	patch, err := json.Marshal(map[string]any{"metadata": change})
	if err != nil {
		return nil, err
	}
	return n.resource.objects(n.namespace).Patch(ctx, n.name, types.MergePatchType, patch)
}

// release removes owners from an object.
func (gc *GarbageCollector) release(ctx context.Context, n *node, object *metav1.PartialObjectMetadata, owners ...types.UID) error {
	others := slices.DeleteFunc(slices.Clone(object.OwnerReferences), func(reference metav1.OwnerReference) bool { return slices.Contains(owners, reference.UID) })
	_, err := gc.patch(ctx, n, object, map[string]any{"ownerReferences": others})
	return err
}

// unblock lets the owners of an object go before it.
func (gc *GarbageCollector) unblock(ctx context.Context, n *node, object *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	free := false
	owners := slices.Clone(object.OwnerReferences)
	for i := range owners {
		owners[i].BlockOwnerDeletion = &free
	}
	return gc.patch(ctx, n, object, map[string]any{"ownerReferences": owners})
}

// removeFinalizer removes a finalizer of an object, which is gone then if it was the last one.
func (gc *GarbageCollector) removeFinalizer(ctx context.Context, n *node, object *metav1.PartialObjectMetadata, finalizer string) error {
	others := slices.DeleteFunc(slices.Clone(object.Finalizers), func(name string) bool { return name == finalizer })
	_, err := gc.patch(ctx, n, object, map[string]any{"finalizers": others})
	return err
}
