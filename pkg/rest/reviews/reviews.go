package reviews

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/rest"
)

// The reviews answer who asks, and what that user may do. There is no authentication:
// everybody may do everything.

type (
	selfSubjectReviews       struct{ now func() time.Time }
	selfSubjectAccessReviews struct{}
	selfSubjectRulesReviews  struct{}
	subjectAccessReviews     struct{}
)

// New implements rest.Creater.
func (selfSubjectReviews) New() rest.Object { return &authenticationv1.SelfSubjectReview{} }

// Create implements rest.Creater. The user is that of the insecure port of 2014 to 2020.
func (s selfSubjectReviews) Create(_ context.Context, _ rest.Key, object rest.Object, _ bool) (rest.Answer, error) {
	review := object.(*authenticationv1.SelfSubjectReview)
	review.CreationTimestamp = metav1.Time{Time: s.now().UTC()}.Rfc3339Copy()
	review.Status.UserInfo = authenticationv1.UserInfo{Username: "system:unsecured", Groups: []string{"system:masters", "system:authenticated"}}
	return rest.MakeAnswer(review), nil
}

// New implements rest.Creater.
func (selfSubjectAccessReviews) New() rest.Object { return &authorizationv1.SelfSubjectAccessReview{} }

// Create implements rest.Creater.
func (selfSubjectAccessReviews) Create(_ context.Context, _ rest.Key, object rest.Object, _ bool) (rest.Answer, error) {
	review := object.(*authorizationv1.SelfSubjectAccessReview)
	review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	return rest.MakeAnswer(review), nil
}

// New implements rest.Creater.
func (subjectAccessReviews) New() rest.Object { return &authorizationv1.SubjectAccessReview{} }

// Create implements rest.Creater.
func (subjectAccessReviews) Create(_ context.Context, _ rest.Key, object rest.Object, _ bool) (rest.Answer, error) {
	review := object.(*authorizationv1.SubjectAccessReview)
	review.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	return rest.MakeAnswer(review), nil
}

// New implements rest.Creater.
func (selfSubjectRulesReviews) New() rest.Object { return &authorizationv1.SelfSubjectRulesReview{} }

// Create implements rest.Creater.
func (selfSubjectRulesReviews) Create(_ context.Context, _ rest.Key, object rest.Object, _ bool) (rest.Answer, error) {
	review, all := object.(*authorizationv1.SelfSubjectRulesReview), []string{"*"}
	review.Status = authorizationv1.SubjectRulesReviewStatus{
		ResourceRules:    []authorizationv1.ResourceRule{{Verbs: all, APIGroups: all, Resources: all}},
		NonResourceRules: []authorizationv1.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
	}
	return rest.MakeAnswer(review), nil
}
