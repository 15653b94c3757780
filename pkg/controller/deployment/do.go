package deployment

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
)

// do does what is due for a rollout as the server has it, until the server refuses something, and waits until the copies show
// that.
func (c *DeploymentController) do(ctx context.Context, r *rollout) error {
	sets := c.Client.In(r.d.Namespace).ReplicaSets()
	_, err := controller.Each(ctx, r.plan(), func(change change) (controller.Expectation, error) {
		if change.to == nil {
			return controller.ShowsDeleted(c.sets, change.from), sets.Delete(ctx, change.from.Name, deletion(change.from))
		}
		written, err := change.to, error(nil)
		if change.from.UID == "" {
			written, err = c.create(ctx, r, written)
		} else {
			written, err = sets.Update(ctx, written)
		}
		if err != nil || written == nil {
			return nil, err
		}
		c.tellScaled(r.d, change)
		return controller.Shows(c.sets, written), nil
	})
	return controller.OrStale(err)
}

// deletion returns the options for the deletion of a replica set that is still as it was read, without pods.
func deletion(set *appsv1.ReplicaSet) metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground),
		Preconditions: &metav1.Preconditions{UID: &set.UID, ResourceVersion: &set.ResourceVersion}}
}

// create creates a replica set. It returns nothing if that cannot be: the outcome says why, or the namespace ends. With
// controller.ErrStale it exists already: the answer to an earlier request was lost.
func (c *DeploymentController) create(ctx context.Context, r *rollout, set *appsv1.ReplicaSet) (*appsv1.ReplicaSet, error) {
	sets := c.Client.In(set.Namespace).ReplicaSets()
	created, err := sets.Create(ctx, set)
	switch {
	case err == nil:
		r.created = true
	case apierrors.IsAlreadyExists(err):
		existing, err := sets.Get(ctx, set.Name)
		if err == nil && isOf(existing, r.d) && metav1.IsControlledBy(existing, r.d) {
			err = controller.ErrStale
		}
		r.collided = err == nil
		return nil, err
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, nil
	case clientv1.IsAnswer(err):
		r.refused = fmt.Sprintf("Failed to create new replica set %q: %s", set.Name, err)
		c.Recorder.Eventf(r.d, corev1.EventTypeWarning, "ReplicaSetCreateError", "%s", r.refused)
	}
	return created, err
}

// tellScaled tells of a replica set that wants another number of pods.
func (c *DeploymentController) tellScaled(d *appsv1.Deployment, change change) {
	from, to, way := replicas(change.from), replicas(change.to), "up"
	switch {
	case to == from:
		return
	case to < from:
		way = "down"
	}
	c.Recorder.Eventf(d, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", way, change.to.Name, from, to)
}
