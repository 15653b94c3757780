// Package reviews is the table of the resources that store nothing: they answer who asks, and
// what somebody may do.
package reviews

import (
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/rest"
)

var (
	authenticationGroup = authenticationv1.SchemeGroupVersion
	authorizationGroup  = authorizationv1.SchemeGroupVersion
)

// Config is what the reviews ask.
type Config struct {
	Now func() time.Time
}

// Resources returns the table.
func Resources(config Config) []rest.Resource {
	return []rest.Resource{
		{GroupVersion: authenticationGroup, Name: "selfsubjectreviews", Kind: authenticationGroup.WithKind("SelfSubjectReview"), Singular: "selfsubjectreview",
			Storage: selfSubjectReviews{config.Now}},
		{GroupVersion: authorizationGroup, Name: "selfsubjectaccessreviews", Kind: authorizationGroup.WithKind("SelfSubjectAccessReview"),
			Singular: "selfsubjectaccessreview", Storage: selfSubjectAccessReviews{}},
		{GroupVersion: authorizationGroup, Name: "selfsubjectrulesreviews", Kind: authorizationGroup.WithKind("SelfSubjectRulesReview"),
			Singular: "selfsubjectrulesreview", Storage: selfSubjectRulesReviews{}},
		{GroupVersion: authorizationGroup, Name: "subjectaccessreviews", Kind: authorizationGroup.WithKind("SubjectAccessReview"),
			Singular: "subjectaccessreview", Storage: subjectAccessReviews{}},
	}
}

// Types has the Go type of each kind that the resources have.
func Types() map[schema.GroupVersionKind]interface{} {
	return map[schema.GroupVersionKind]interface{}{
		authenticationGroup.WithKind("SelfSubjectReview"):      authenticationv1.SelfSubjectReview{},
		authorizationGroup.WithKind("SelfSubjectAccessReview"): authorizationv1.SelfSubjectAccessReview{},
		authorizationGroup.WithKind("SelfSubjectRulesReview"):  authorizationv1.SelfSubjectRulesReview{},
		authorizationGroup.WithKind("SubjectAccessReview"):     authorizationv1.SubjectAccessReview{},
	}
}
