// Package validatingadmissionpolicystatus checks the types in the expressions of the policies that check objects, as a client of the API. The
// warnings are in the status of a policy; they change nothing of what it decides.
package validatingadmissionpolicystatus

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// Config is what a StatusController needs.
type Config struct {
	Client *clientv1.Client
	// Resources returns what the server serves, with groups and versions.
	Resources func() []metav1.APIResource
	// Around is put around the work on one policy, for a trace. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

// StatusController keeps the status of policies. Its work can be interrupted at any moment and repeated, also by several
// controllers at once.
type StatusController struct {
	config   Config
	policies *cache.SharedInformer[*admissionregistrationv1.ValidatingAdmissionPolicy]
	synced   func() bool
	queue    *workqueue.Queue // of the names of policies
}

// NewStatusController returns a controller.
func NewStatusController(config Config) *StatusController {
	const name = "validating admission policy status controller"
	c := &StatusController{config: config, policies: cache.NewSharedInformer(name, config.Client.ValidatingAdmissionPolicies(), 0), queue: workqueue.New(name)}
	c.synced = c.policies.AddHandler(cache.Handler[*admissionregistrationv1.ValidatingAdmissionPolicy]{
		OnAdd: c.add, OnUpdate: func(_, policy *admissionregistrationv1.ValidatingAdmissionPolicy) { c.add(policy) }})
	return c
}

func (c *StatusController) add(policy *admissionregistrationv1.ValidatingAdmissionPolicy) {
	c.queue.Add(policy.Name)
}

// Run works with a number of workers until the context ends. It is called once.
func (c *StatusController) Run(ctx context.Context, workers int) {
	go c.policies.Run(ctx)
	if cache.WaitForSync(ctx, c.synced) {
		c.queue.Run(ctx, workers, workqueue.Sync(c.sync).Inside(c.config.Around))
	}
}

func (c *StatusController) sync(ctx context.Context, name string) error {
	policy, exists := c.policies.Store().Get(name)
	if !exists || policy.Generation <= policy.Status.ObservedGeneration {
		return nil
	}
	warnings, err := c.check(ctx, policy)
	if err != nil {
		return err
	}
	policy = policy.DeepCopy()
	policy.Status.ObservedGeneration = policy.Generation
	policy.Status.TypeChecking = &admissionregistrationv1.TypeChecking{ExpressionWarnings: warnings}
	_, err = c.config.Client.ValidatingAdmissionPolicies().UpdateStatus(ctx, policy)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the informer tells of what has changed
	}
	return err
}
