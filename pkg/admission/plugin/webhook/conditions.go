package webhook

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiadmission "k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiuser "k8s.io/apiserver/pkg/authentication/user"
	apiauthorizer "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube2014/pkg/admission"
	"kube2014/pkg/api/v1/validation/webhooks"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// newConditions compiles the conditions of a webhook. The result is nil if it has none.
func newConditions(callType string, w *admissionregistrationv1.MutatingWebhook) matchconditions.Matcher {
	if len(w.MatchConditions) == 0 {
		return nil
	}
	all := make([]plugincel.ExpressionAccessor, len(w.MatchConditions))
	for i := range w.MatchConditions {
		all[i] = (*matchconditions.MatchCondition)(&w.MatchConditions[i])
	}
	compiled := plugincel.NewConditionCompiler(webhooks.Environment()).CompileCondition(all, webhooks.Variables, environment.StoredExpressions)
	return matchconditions.NewMatcher(compiled, w.FailurePolicy, "webhook", callType, w.Name)
}

// meets reports whether a change meets the conditions of a webhook. If they cannot be evaluated, the failure policy applies.
func (p *common) meets(ctx context.Context, h *hook, a *admission.Attributes) (bool, error) {
	if h.conditions == nil {
		return true, nil
	}
	change := &apiadmission.VersionedAttributes{VersionedKind: a.Kind}
	if a.Object != nil {
		change.VersionedObject = withKind(a.Object, a.Kind)
	}
	if a.OldObject != nil {
		change.VersionedOldObject = withKind(a.OldObject, a.Kind)
	}
	who := &apiuser.DefaultInfo{Name: a.User.Name, UID: a.User.UID, Groups: a.User.Groups, Extra: a.User.Extra}
	change.Attributes = apiadmission.NewAttributesRecord(change.VersionedObject, change.VersionedOldObject, a.Kind, namespaceOf(a), a.Name, a.Resource,
		a.Subresource, apiadmission.Operation(a.Operation), a.Options, a.DryRun, who)
	var none runtime.Object // there are no parameters
	result := h.conditions.Match(ctx, change, none, rights{p.rights})
	if result.Error != nil {
		return false, admission.Forbidden(a, result.Error)
	}
	return result.Matches, nil
}

// rights lets conditions ask the server's authorizer.
type rights struct{ authorizer.Authorizer }

// Authorize implements the interface of the library.
func (r rights) Authorize(ctx context.Context, a apiauthorizer.Attributes) (apiauthorizer.Decision, string, error) {
	who := a.GetUser()
	decision, why, err := r.Authorizer.Authorize(ctx, authorizer.Attributes{
		User: &user.Info{Name: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: who.GetExtra()},
		Verb: a.GetVerb(), IsResource: a.IsResourceRequest(), APIGroup: a.GetAPIGroup(), APIVersion: a.GetAPIVersion(), Resource: a.GetResource(),
		Subresource: a.GetSubresource(), Namespace: a.GetNamespace(), Name: a.GetName(), Path: a.GetPath(),
	})
	if decision == authorizer.Allow {
		return apiauthorizer.DecisionAllow, why, err
	}
	return apiauthorizer.DecisionNoOpinion, why, err
}
