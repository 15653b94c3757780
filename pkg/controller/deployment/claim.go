package deployment

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/controller"
)

var controllerKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// claim adopts the replica sets that a deployment selects and that have no controller. It releases its own that it does not
// select any more. After an error, it is unknown which are its own.
func (c *DeploymentController) claim(ctx context.Context, d *appsv1.Deployment, selector labels.Selector) error {
	owners := controller.Claims(c.sets.Store(), d, controllerKind,
		func(set *appsv1.ReplicaSet) bool { return set.DeletionTimestamp == nil }, func(set *appsv1.ReplicaSet) bool { return selects(selector, set) })
	if len(owners) == 0 {
		return nil
	}
	client := c.Client.In(d.Namespace)
	if _, err := controller.Confirm(ctx, client.Deployments(), d); err != nil {
		return err
	}
	return controller.SetOwners(ctx, client.ReplicaSets(), c.sets, owners)
}
