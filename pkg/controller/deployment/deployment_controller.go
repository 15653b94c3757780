// Package deployment rolls out deployments by replica sets, as a client of the API.
package deployment

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

// DeploymentController gives each deployment the replica sets that it wants.
//
// The copies only tell that there is something to do. What is done is decided on what the server has: the deployment, and
// all its replica sets in one list. A replica set is only changed in the version that was read.
type DeploymentController struct {
	*controller.Loop
	deployments *cache.SharedInformer[*appsv1.Deployment]
	sets        *cache.SharedInformer[*appsv1.ReplicaSet]
}

// NewDeploymentController returns a controller that has its handlers at the informers. They must be run by the caller.
func NewDeploymentController(config controller.Config) *DeploymentController {
	c := &DeploymentController{deployments: config.Informers.Deployments(), sets: config.Informers.ReplicaSets()}
	c.Loop = controller.NewLoop(config, "deployment_controller", c.sync)
	c.deployments.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	c.sets.Store().AddIndex(cache.OwnerIndex, cache.OwnerOf)
	c.sets.Store().AddIndex(cache.OrphanIndex, cache.OrphanOf)
	controller.Handle(c.Loop, c.deployments, controller.Handler(c.Queue, controller.OwnKey[*appsv1.Deployment]))
	controller.Handle(c.Loop, c.sets, controller.WithoutResyncs(controller.EachVersion(c.setSeen)))
	return c
}

// setSeen queues the deployment of a replica set, or all that may adopt it.
func (c *DeploymentController) setSeen(set *appsv1.ReplicaSet) {
	if metav1.GetControllerOfNoCopy(set) != nil {
		for _, key := range controller.KeyOfOwner[*appsv1.ReplicaSet](controllerKind)(set) {
			c.Queue.Add(key)
		}
		return
	}
	for _, d := range c.deployments.Store().ByIndex(cache.NamespaceIndex, set.Namespace) {
		if selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil && selects(selector, set) {
			c.Queue.Add(cache.Key(d))
		}
	}
}

// selects reports whether a selector matches a replica set. An empty one matches nothing.
func selects(selector labels.Selector, set *appsv1.ReplicaSet) bool {
	return !selector.Empty() && selector.Matches(labels.Set(set.Labels))
}

// sync brings the replica sets of the deployment of a key a step further, and updates its status.
func (c *DeploymentController) sync(ctx context.Context, key string) error {
	d, exists := c.deployments.Store().Get(key)
	if !exists {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil || selector.Empty() { // no server takes such a one
		return err
	}
	if d.DeletionTimestamp == nil {
		err = c.claim(ctx, d, selector)
	}
	if err == nil {
		err = c.advance(ctx, d, selector)
	}
	return err
}

// advance does what is due for a deployment, and updates its status.
func (c *DeploymentController) advance(ctx context.Context, d *appsv1.Deployment, selector labels.Selector) error {
	r := c.copied(d)
	var failed error
	if len(r.plan()) > 0 {
		real, err := c.read(ctx, d, selector)
		if err != nil {
			return err
		}
		if failed = c.do(ctx, real); errors.Is(failed, controller.ErrStale) {
			return failed
		}
		r = c.copied(real.d)
		r.outcome = real.outcome
	}
	return errors.Join(failed, c.updateStatus(ctx, r))
}

// copied returns the rollout of a deployment with the copies of its replica sets.
func (c *DeploymentController) copied(d *appsv1.Deployment) *rollout {
	return newRollout(d, controller.OwnedBy(c.sets.Store(), d))
}

// read returns the rollout of a deployment as the server has it.
func (c *DeploymentController) read(ctx context.Context, d *appsv1.Deployment, selector labels.Selector) (*rollout, error) {
	client := c.Client.In(d.Namespace)
	current, err := controller.Confirm(ctx, client.Deployments(), d)
	if err != nil {
		return nil, err
	}
	var sets []*appsv1.ReplicaSet
	for set, err := range client.ReplicaSets().All(ctx, metav1.ListOptions{LabelSelector: selector.String()}) {
		switch {
		case err != nil:
			return nil, err
		case metav1.IsControlledBy(set, d):
			sets = append(sets, set)
		case metav1.GetControllerOfNoCopy(set) == nil && set.DeletionTimestamp == nil: // it is adopted first
			return nil, controller.ErrStale
		}
	}
	return newRollout(current, sets), nil
}

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
