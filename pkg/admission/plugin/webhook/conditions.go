package webhook

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/expressions"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/api/v1/validation/webhooks"
)

// newConditions compiles the conditions of a webhook.
func newConditions(w *admissionregistrationv1.MutatingWebhook) (all expressions.Conditions) {
	for i := range w.MatchConditions {
		all = append(all, webhooks.Compiler().CompileCELExpression((*matchconditions.MatchCondition)(&w.MatchConditions[i]), webhooks.Variables, environment.StoredExpressions))
	}
	return all
}

// meets reports whether a change meets the conditions of a webhook. If they cannot be evaluated, the failure policy applies.
func (p *common) meets(ctx context.Context, h *hook, view matching.View, a *admission.Attributes) (bool, error) {
	if len(h.conditions) == 0 {
		return true, nil
	}
	in, err := expressions.NewInput(ctx, expressions.NewChange(view, a, nil, p.rights), nil, nil)
	if err != nil {
		return false, err
	}
	meets, err := in.Meets(h.conditions)
	if err != nil && !h.failOpen {
		return false, admission.Forbidden(a, err)
	}
	return meets, nil
}
