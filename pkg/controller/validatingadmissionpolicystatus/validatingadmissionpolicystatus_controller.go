// Package validatingadmissionpolicystatus checks the types in the expressions of the policies that check objects, as a client of the API. The
// warnings are in the status of a policy; they change nothing of what it decides.
package validatingadmissionpolicystatus

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

// StatusController keeps the status of policies. Its work can be interrupted at any moment and repeated, also by several
// controllers at once.
type StatusController struct {
	*controller.Loop // over the names of policies
	policies         *cache.SharedInformer[*admissionregistrationv1.ValidatingAdmissionPolicy]
}

// NewStatusController returns a controller.
func NewStatusController(config controller.Config) *StatusController {
	c := &StatusController{}
	c.Loop = controller.NewLoop(config, "validating admission policy status controller", c.sync)
	c.policies = controller.Own(c.Loop, config.Client.ValidatingAdmissionPolicies(), 0)
	controller.Handle(c.Loop, c.policies, cache.OnChange(func(policy *admissionregistrationv1.ValidatingAdmissionPolicy) { c.Queue.Add(policy.Name) }))
	return c
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
	_, err = c.Client.ValidatingAdmissionPolicies().UpdateStatus(ctx, policy)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the informer tells of what has changed
	}
	return err
}
