// Package deployment rolls out deployments by replica sets, as a client of the API.
package deployment

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/pods"
	"kube2014/pkg/util/workqueue"
)

// Config is what a DeploymentController needs.
type Config struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	Recorder  record.EventRecorder
	// Around is put around the work on one deployment, for a trace or a lease. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

const (
	// stalePause is the pause before a retry with a stale cache, unless a change comes first.
	stalePause = time.Second

	ownerIndex  = "deployment controller: uid of the controller"
	orphanIndex = "deployment controller: namespace of what has no controller"
)

// errStale reports that the server has something newer than what was decided on. The sync is retried, and nothing is logged.
var errStale = errors.New("the copy is behind")

// DeploymentController gives each deployment the replica sets that it wants.
//
// The copies only tell that there is something to do. What is done is decided on what the server has: the deployment, and
// all its replica sets in one list. A replica set is only changed in the version that was read.
type DeploymentController struct {
	config      Config
	deployments *cache.SharedInformer[*appsv1.Deployment]
	sets        *cache.SharedInformer[*appsv1.ReplicaSet]
	pods        *cache.SharedInformer[*corev1.Pod]
	synced      []func() bool
	queue       *workqueue.Queue
}

// NewDeploymentController returns a controller that has its handlers at the informers. They must be run by the caller.
func NewDeploymentController(config Config) *DeploymentController {
	c := &DeploymentController{config: config, deployments: config.Informers.Deployments(), sets: config.Informers.ReplicaSets(),
		pods: config.Informers.Pods(), queue: workqueue.New("deployment_controller")}
	c.deployments.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	c.sets.Store().AddIndex(ownerIndex, ownerOf)
	c.pods.Store().AddIndex(ownerIndex, ownerOf)
	c.sets.Store().AddIndex(orphanIndex, func(set *appsv1.ReplicaSet) []string {
		if metav1.GetControllerOfNoCopy(set) == nil {
			return []string{set.Namespace}
		}
		return nil
	})
	add := func(d *appsv1.Deployment) { c.queue.Add(cache.Key(d)) }
	c.synced = []func() bool{
		c.deployments.AddHandler(cache.Handler[*appsv1.Deployment]{OnAdd: add, OnUpdate: func(_, d *appsv1.Deployment) { add(d) }}),
		c.sets.AddHandler(cache.Handler[*appsv1.ReplicaSet]{OnAdd: c.setSeen, OnUpdate: c.setChanged, OnDelete: c.setSeen}),
		c.pods.AddHandler(cache.Handler[*corev1.Pod]{OnDelete: c.podGone, OnUpdate: func(old, pod *corev1.Pod) {
			if pods.HasEnded(pod) && !pods.HasEnded(old) {
				c.podGone(pod)
			}
		}}),
	}
	return c
}

// ownerOf is an IndexFunc: it returns the uid of the controller of an object.
func ownerOf[T metav1.Object](object T) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		return []string{string(owner.UID)}
	}
	return nil
}

// Run syncs deployments with a number of workers until the context ends. It is called once.
func (c *DeploymentController) Run(ctx context.Context, workers int) {
	if !cache.WaitForSync(ctx, c.synced...) {
		return
	}
	c.queue.Run(ctx, workers, workqueue.Sync(c.sync).Inside(c.config.Around))
}

func (c *DeploymentController) setChanged(old, set *appsv1.ReplicaSet) {
	if old.ResourceVersion == set.ResourceVersion { // a resync: the deployments have one of their own
		return
	}
	if before, after := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(set); before != nil && (after == nil || after.UID != before.UID) {
		c.setSeen(old)
	}
	c.setSeen(set)
}

// setSeen queues the deployment of a replica set, or all that may adopt it.
func (c *DeploymentController) setSeen(set *appsv1.ReplicaSet) {
	if owner := metav1.GetControllerOfNoCopy(set); owner != nil {
		if owner.Kind == "Deployment" {
			c.queue.Add(cache.KeyOf(set.Namespace, owner.Name))
		}
		return
	}
	for _, d := range c.deployments.Store().ByIndex(cache.NamespaceIndex, set.Namespace) {
		if selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil && selects(selector, set) {
			c.queue.Add(cache.Key(d))
		}
	}
}

// podGone queues the deployment of a pod: it may wait until its old pods are gone.
func (c *DeploymentController) podGone(pod *corev1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	if set, exists := c.sets.Store().Get(cache.KeyOf(pod.Namespace, owner.Name)); exists && set.UID == owner.UID {
		c.setSeen(set)
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
	if errors.Is(err, errStale) {
		c.queue.AddAfter(key, stalePause)
		return nil
	}
	return err
}

// advance does what is due for a deployment, and updates its status.
func (c *DeploymentController) advance(ctx context.Context, d *appsv1.Deployment, selector labels.Selector) error {
	r := c.copied(d)
	var failed error
	if changes, deleted := r.plan(); len(changes)+len(deleted) > 0 {
		real, err := c.read(ctx, d, selector)
		if err != nil {
			return err
		}
		var done outcome
		if done, failed = c.do(ctx, real); errors.Is(failed, errStale) {
			return failed
		}
		r = c.copied(real.d)
		r.outcome = done
	}
	return errors.Join(failed, c.updateStatus(ctx, r))
}

// copied returns the rollout of a deployment with the copies of its replica sets.
func (c *DeploymentController) copied(d *appsv1.Deployment) *rollout {
	return newRollout(d, c.sets.Store().ByIndex(ownerIndex, string(d.UID)), func(set *appsv1.ReplicaSet) []*corev1.Pod {
		return c.pods.Store().ByIndex(ownerIndex, string(set.UID))
	})
}

// confirm returns a deployment as the server has it, unless it is deleted.
func (c *DeploymentController) confirm(ctx context.Context, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	current, err := c.config.Client.In(d.Namespace).Deployments().Get(ctx, d.Name)
	if err == nil && (current.UID != d.UID || current.DeletionTimestamp != nil) {
		return nil, errStale
	}
	return current, orStale(err)
}

// orStale returns errStale for an error that says that the server has something else than what was expected.
func orStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return errStale
	}
	return err
}

// read returns the rollout of a deployment as the server has it.
func (c *DeploymentController) read(ctx context.Context, d *appsv1.Deployment, selector labels.Selector) (*rollout, error) {
	current, err := c.confirm(ctx, d)
	if err != nil {
		return nil, err
	}
	client, selected := c.config.Client.In(d.Namespace), metav1.ListOptions{LabelSelector: selector.String()}
	var sets []*appsv1.ReplicaSet
	for set, err := range client.ReplicaSets().All(ctx, selected) {
		if err != nil {
			return nil, err
		}
		if metav1.IsControlledBy(set, d) {
			sets = append(sets, set)
		}
	}
	running := map[string][]*corev1.Pod{}
	if recreates(current) {
		for pod, err := range client.Pods().All(ctx, selected) {
			if err != nil {
				return nil, err
			}
			for _, owner := range ownerOf(pod) {
				running[owner] = append(running[owner], pod)
			}
		}
	}
	r := newRollout(current, sets, func(set *appsv1.ReplicaSet) []*corev1.Pod { return running[string(set.UID)] })
	if r.oldRuns {
		c.queue.AddAfter(cache.Key(d), stalePause) // the handler does not see a pod that came and went
	}
	return r, nil
}
