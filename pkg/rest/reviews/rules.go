package reviews

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/server/request"
)

func (c Config) selfSubjectRules(ctx context.Context, review *authorizationv1.SelfSubjectRulesReview) error {
	if review.Spec.Namespace == "" {
		return apierrors.NewBadRequest("no namespace on request")
	}
	rules, incomplete, why := c.Rules.RulesFor(ctx, request.UserFrom(ctx), review.Spec.Namespace)
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: incomplete}
	for _, rule := range rules {
		if len(rule.NonResourceURLs) > 0 {
			status.NonResourceRules = append(status.NonResourceRules,
				authorizationv1.NonResourceRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
		if len(rule.Resources) > 0 {
			status.ResourceRules = append(status.ResourceRules,
				authorizationv1.ResourceRule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
		}
	}
	if why != nil {
		status.EvaluationError = short(why)
	}
	review.Status = status
	return nil
}
