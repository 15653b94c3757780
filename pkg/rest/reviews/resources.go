// Package reviews is the table of the resources that store nothing: they answer who asks, and
// what somebody may do.
package reviews

import (
	"context"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/rest"
)

var (
	authenticationGroup = authenticationv1.SchemeGroupVersion
	authorizationGroup  = authorizationv1.SchemeGroupVersion
)

// Config is whom the reviews ask.
type Config struct {
	Authorizer authorizer.Authorizer
	Rules      authorizer.RuleResolver
	Tokens     authenticator.Token // nil if there are no tokens: none is known then
	Now        func() time.Time
}

// Resources returns the table.
func Resources(config Config) []rest.Resource {
	return []rest.Resource{
		line(authenticationGroup, "SelfSubjectReview", selfSubjectReviews{config.Now}),
		line(authenticationGroup, "TokenReview", tokenReviews{config.Tokens}),
		local(line(authorizationGroup, "LocalSubjectAccessReview", localSubjectAccessReviews{config.Authorizer})),
		line(authorizationGroup, "SelfSubjectAccessReview", selfSubjectAccessReviews{config.Authorizer}),
		line(authorizationGroup, "SelfSubjectRulesReview", selfSubjectRulesReviews{config.Rules}),
		line(authorizationGroup, "SubjectAccessReview", subjectAccessReviews{config.Authorizer}),
	}
}

func line(group schema.GroupVersion, kind string, storage rest.Creater) rest.Resource {
	singular := strings.ToLower(kind)
	return rest.Resource{GroupVersion: group, Name: singular + "s", Kind: group.WithKind(kind), Singular: singular, Storage: admitted{storage}}
}

// admitted asks the admission before a review is answered.
type admitted struct{ rest.Creater }

// Create implements rest.Creater.
func (a admitted) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	object, err := options.Admit(object, nil)
	if err != nil {
		return nil, err
	}
	return a.Creater.Create(ctx, key, object, options)
}

func local(resource rest.Resource) rest.Resource {
	resource.Namespaced = true
	return resource
}

// enter drops what a client cannot say of itself, and sets the namespace of the path.
func enter(object rest.Object, namespace string) {
	object.SetNamespace(namespace)
	object.SetUID("")
	object.SetSelfLink("")
	object.SetCreationTimestamp(metav1.Time{})
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetManagedFields(nil)
}
