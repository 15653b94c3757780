package reviews

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

type selfSubjectRulesReviews struct{ rules authorizer.RuleResolver }

// New implements rest.Creater.
func (selfSubjectRulesReviews) New() rest.Object { return &authorizationv1.SelfSubjectRulesReview{} }

// Create implements rest.Creater.
func (s selfSubjectRulesReviews) Create(ctx context.Context, _ rest.Key, object rest.Object, _ rest.WriteOptions) (rest.Answer, error) {
	review := object.(*authorizationv1.SelfSubjectRulesReview)
	if review.Spec.Namespace == "" {
		return nil, apierrors.NewBadRequest("no namespace on request")
	}
	enter(review, "")
	rules, incomplete, why := s.rules.RulesFor(ctx, request.UserFrom(ctx), review.Spec.Namespace)
	review.Status = authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: incomplete}
	for _, rule := range rules {
		if len(rule.NonResourceURLs) > 0 {
			review.Status.NonResourceRules = append(review.Status.NonResourceRules,
				authorizationv1.NonResourceRule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
		if len(rule.Resources) > 0 {
			review.Status.ResourceRules = append(review.Status.ResourceRules,
				authorizationv1.ResourceRule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
		}
	}
	if why != nil {
		review.Status.EvaluationError = short(why)
	}
	return rest.MakeAnswer(review), nil
}
