// Package reviews has the resources that store nothing: each review is answered at once. They
// report who the caller is, whose a token is, and what a user may do.
package reviews

import (
	"context"
	"log"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user/userinfo"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

var (
	authenticationGroup = authenticationv1.SchemeGroupVersion
	authorizationGroup  = authorizationv1.SchemeGroupVersion
)

// Config has what the answers come from.
type Config struct {
	Authorizer authorizer.Authorizer
	Rules      authorizer.RuleResolver
	Tokens     authenticator.Token // nil if there are no tokens: then each one is unknown
	Now        func() time.Time
}

// Resources returns the table of the reviews.
func Resources(config Config) []rest.Resource {
	return []rest.Resource{
		row(authenticationGroup, "SelfSubjectReview", false, config.selfSubject),
		row(authenticationGroup, "TokenReview", false, config.token),
		row(authorizationGroup, "LocalSubjectAccessReview", true, config.localSubjectAccess),
		row(authorizationGroup, "SelfSubjectAccessReview", false, config.selfSubjectAccess),
		row(authorizationGroup, "SelfSubjectRulesReview", false, config.selfSubjectRules),
		row(authorizationGroup, "SubjectAccessReview", false, config.subjectAccess),
	}
}

// pointerTo is a pointer to a type of review.
type pointerTo[T any] interface {
	*T
	rest.Object
}

func row[T any, P pointerTo[T]](group schema.GroupVersion, kind string, namespaced bool, answer func(context.Context, P) error) rest.Resource {
	singular := strings.ToLower(kind)
	return rest.Resource{GroupVersion: group, Name: singular + "s", Kind: group.WithKind(kind), Singular: singular, Namespaced: namespaced,
		Storage: storage[T, P]{namespaced, answer}}
}

// storage answers the reviews of a kind.
type storage[T any, P pointerTo[T]] struct {
	namespaced bool
	// answer sets the status of a review. An error refuses the review.
	answer func(ctx context.Context, review P) error
}

// New implements rest.Creater.
func (storage[T, P]) New() rest.Object { return P(new(T)) }

// Create implements rest.Creater.
func (s storage[T, P]) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	object, err := options.Admit(object, nil)
	if err != nil {
		return nil, err
	}
	if s.namespaced {
		if err := rest.CheckNamespace(object, key.Namespace); err != nil {
			return nil, err
		}
	}
	resetMetadata(object, key.Namespace)
	if err := s.answer(ctx, object.(P)); err != nil {
		return nil, err
	}
	return rest.MakeAnswer(object), nil
}

// resetMetadata removes what only a server may set, and sets the namespace of the path.
func resetMetadata(object rest.Object, namespace string) {
	object.SetNamespace(namespace)
	object.SetUID("")
	object.SetSelfLink("")
	object.SetCreationTimestamp(metav1.Time{})
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetManagedFields(nil)
}

func (c Config) selfSubject(ctx context.Context, review *authenticationv1.SelfSubjectReview) error {
	review.CreationTimestamp = metav1.Time{Time: c.Now().UTC()}.Rfc3339Copy()
	review.Status.UserInfo = userinfo.Of(request.UserFrom(ctx))
	return nil
}

// token answers without audiences, which are not known here. In the API this means that the
// token is valid for this server.
func (c Config) token(ctx context.Context, review *authenticationv1.TokenReview) error {
	token := review.Spec.Token
	if token == "" {
		return apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	review.Status = authenticationv1.TokenReviewStatus{}
	if c.Tokens == nil {
		return nil
	}
	who, ok, err := c.Tokens.AuthenticateToken(ctx, token)
	if err != nil && !strings.Contains(err.Error(), token) {
		log.Printf("A token to be reviewed is not accepted: %s", api.Printable(short(err), ' '))
	}
	if ok && err == nil {
		review.Status.Authenticated, review.Status.User = true, userinfo.Of(who.Known())
	} else {
		review.Status.Error = "invalid bearer token"
	}
	return nil
}
