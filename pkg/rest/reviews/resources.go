// Package reviews has the resources that store nothing: each review is answered at once. They
// report who the caller is, whose a token is, and what a user may do.
package reviews

import (
	"cmp"
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
	"kube2014/pkg/auth/user"
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

// The authorizer in front of the reviews decides who may review the access of other users.

func (c Config) selfSubjectAccess(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) error {
	q := question{review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes}
	if err := invalid(append(q.errors(), mustBeEmpty(review.ObjectMeta, "must be empty")...)); err != nil {
		return err
	}
	review.Status = q.answer(ctx, c.Authorizer, request.UserFrom(ctx))
	return nil
}

func (c Config) subjectAccess(ctx context.Context, review *authorizationv1.SubjectAccessReview) error {
	if err := invalid(append(subjectErrors(review.Spec), mustBeEmpty(review.ObjectMeta, "must be empty")...)); err != nil {
		return err
	}
	review.Status = accessOf(ctx, c.Authorizer, review.Spec)
	return nil
}

// localSubjectAccess answers about one namespace, which need not exist.
func (c Config) localSubjectAccess(ctx context.Context, review *authorizationv1.LocalSubjectAccessReview) error {
	if err := invalid(append(subjectErrors(review.Spec), localErrors(review)...)); err != nil {
		return err
	}
	review.Status = accessOf(ctx, c.Authorizer, review.Spec)
	return nil
}

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

// accessOf returns the access of the user that a review names.
func accessOf(ctx context.Context, decides authorizer.Authorizer, spec authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	who := &user.Info{Name: spec.User, UID: spec.UID, Groups: spec.Groups, Extra: user.ConvertExtra[[]string](spec.Extra)}
	return question{spec.ResourceAttributes, spec.NonResourceAttributes}.answer(ctx, decides, who)
}

// question is what a review is about: a resource or a path.
type question struct {
	resource *authorizationv1.ResourceAttributes
	path     *authorizationv1.NonResourceAttributes
}

// answer returns the decision of the authorizer about a user.
func (q question) answer(ctx context.Context, decides authorizer.Authorizer, who *user.Info) authorizationv1.SubjectAccessReviewStatus {
	decision, reason, err := decides.Authorize(ctx, q.attributes(who))
	var problems []string
	if err != nil {
		problems = append(problems, short(err))
	}
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.Allow, Denied: decision == authorizer.Deny, Reason: reason,
		EvaluationError: strings.Join(append(problems, q.unreadSelectors()...), "; "),
	}
}

// attributes has the requirements of the selectors that can be read. Without the others, the question is about more objects.
func (q question) attributes(who *user.Info) authorizer.Attributes {
	r := q.resource
	if r == nil {
		return authorizer.Attributes{User: who, Verb: q.path.Verb, Path: q.path.Path}
	}
	attributes := authorizer.Attributes{User: who, IsResource: true, Verb: r.Verb, APIGroup: r.Group, APIVersion: cmp.Or(r.Version, "*"),
		Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name}
	if s := r.FieldSelector; s != nil {
		attributes.FieldSelector, _ = authorizer.ParseFieldSelector(s.RawSelector)
		attributes.FieldSelector = append(attributes.FieldSelector, read(s.Requirements, isReadField)...)
	}
	if s := r.LabelSelector; s != nil {
		attributes.LabelSelector, _ = authorizer.ParseLabelSelector(s.RawSelector)
		attributes.LabelSelector = append(attributes.LabelSelector, read(s.Requirements, isReadLabel)...)
	}
	return attributes
}

// maxProblem bounds the text of an error in an answer, in bytes.
const maxProblem = 1000

func short(err error) string {
	text := err.Error()
	if len(text) > maxProblem {
		text = text[:maxProblem] + "..."
	}
	return strings.ToValidUTF8(text, "")
}
