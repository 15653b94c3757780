package deployment

import (
	"context"
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
)

var controllerKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// claim adopts the replica sets that a deployment selects and that have no controller. It releases its own that it does not
// select any more. After an error, it is unknown which are its own.
func (c *DeploymentController) claim(ctx context.Context, d *appsv1.Deployment, selector labels.Selector) error {
	owners := map[*appsv1.ReplicaSet][]metav1.OwnerReference{}
	for _, set := range c.sets.Store().ByIndex(orphanIndex, d.Namespace) {
		if set.DeletionTimestamp == nil && selects(selector, set) {
			owners[set] = append(withoutOwner(set.OwnerReferences, d.UID), *metav1.NewControllerRef(d, controllerKind))
		}
	}
	for _, set := range c.sets.Store().ByIndex(ownerIndex, string(d.UID)) {
		if set.DeletionTimestamp == nil && !selects(selector, set) {
			owners[set] = withoutOwner(set.OwnerReferences, d.UID)
		}
	}
	if len(owners) == 0 {
		return nil
	}
	if _, err := c.confirm(ctx, d); err != nil {
		return err
	}
	var expected []cache.Expectation
	for set, references := range owners {
		patched, err := c.patchOwners(ctx, set, references)
		if err != nil {
			return err
		}
		expected = append(expected, c.sets.Shows(patched))
	}
	return cache.Await(ctx, expected...)
}

// patchOwners sets the owners of a replica set, if the cache has its newest version.
func (c *DeploymentController) patchOwners(ctx context.Context, set *appsv1.ReplicaSet, owners []metav1.OwnerReference) (*appsv1.ReplicaSet, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": set.UID, "resourceVersion": set.ResourceVersion, "ownerReferences": owners,
	}})
	if err != nil {
		return nil, err
	}
	patched, err := c.config.Client.In(set.Namespace).ReplicaSets().Patch(ctx, set.Name, types.MergePatchType, patch)
	return patched, orStale(err)
}

// withoutOwner returns all references but those to a uid.
func withoutOwner(owners []metav1.OwnerReference, uid types.UID) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(owners), func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}
