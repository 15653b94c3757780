package deployment

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
)

// do does what is due for a rollout as the server has it, until the server refuses something, and waits until the copies show
// that.
func (c *DeploymentController) do(ctx context.Context, r *rollout) (done outcome, failed error) {
	var expected []cache.Expectation
	changes, deleted := r.plan()
	for _, change := range changes {
		var written *appsv1.ReplicaSet
		if change.from.UID == "" {
			written, failed = c.create(ctx, r.d, change.to, &done)
		} else {
			written, failed = c.config.Client.In(r.d.Namespace).ReplicaSets().Update(ctx, change.to)
			failed = orStale(failed)
		}
		if failed != nil || written == nil {
			break
		}
		expected = append(expected, c.sets.Shows(written))
		c.tellScaled(r.d, change)
	}
	for _, set := range deleted {
		if failed = c.delete(ctx, set); failed != nil {
			break
		}
		expected = append(expected, c.sets.ShowsDeleted(set))
	}
	if err := cache.Await(ctx, expected...); err != nil {
		return done, err
	}
	return done, failed
}

// create creates a replica set. It returns nothing if that cannot be: the outcome says why, or the namespace ends. With errStale
// it exists already: the answer to an earlier request was lost.
func (c *DeploymentController) create(ctx context.Context, d *appsv1.Deployment, set *appsv1.ReplicaSet, done *outcome) (*appsv1.ReplicaSet, error) {
	sets := c.config.Client.In(set.Namespace).ReplicaSets()
	created, err := sets.Create(ctx, set)
	switch {
	case err == nil:
		done.created = true
	case apierrors.IsAlreadyExists(err):
		existing, err := sets.Get(ctx, set.Name)
		if err != nil {
			return nil, orStale(err)
		}
		if isOf(existing, d) && isOwn(existing, d) {
			return nil, errStale
		}
		done.collided = true
		return nil, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, nil
	case isAnswer(err):
		done.refused = fmt.Sprintf("Failed to create new replica set %q: %s", set.Name, err)
		c.config.Recorder.Eventf(d, corev1.EventTypeWarning, "ReplicaSetCreateError", "%s", done.refused)
	}
	return created, err
}

// isOwn reports whether a replica set is controlled by a deployment, or will be adopted.
func isOwn(set *appsv1.ReplicaSet, d *appsv1.Deployment) bool {
	if owner := metav1.GetControllerOfNoCopy(set); owner != nil {
		return owner.UID == d.UID
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	return err == nil && selects(selector, set)
}

func (c *DeploymentController) tellScaled(d *appsv1.Deployment, change change) {
	from, to, way := replicas(change.from), replicas(change.to), "up"
	switch {
	case from == to:
		return
	case to < from:
		way = "down"
	}
	c.config.Recorder.Eventf(d, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", way, change.to.Name, from, to)
}

// delete deletes a replica set if it is still as it was read, without pods.
func (c *DeploymentController) delete(ctx context.Context, set *appsv1.ReplicaSet) error {
	return orStale(c.config.Client.In(set.Namespace).ReplicaSets().Delete(ctx, set.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &set.UID, ResourceVersion: &set.ResourceVersion}, PropagationPolicy: new(metav1.DeletePropagationBackground)}))
}

// isAnswer reports whether an error is what the server answered.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}
