package reviews

import (
	"cmp"
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// Who may ask for somebody else's access is up to the authorizer in front of the reviews.
type (
	selfSubjectAccessReviews  struct{ authorizer authorizer.Authorizer }
	subjectAccessReviews      struct{ authorizer authorizer.Authorizer }
	localSubjectAccessReviews struct{ authorizer authorizer.Authorizer }
)

// New implements rest.Creater.
func (selfSubjectAccessReviews) New() rest.Object { return &authorizationv1.SelfSubjectAccessReview{} }

// Create implements rest.Creater.
func (s selfSubjectAccessReviews) Create(ctx context.Context, _ rest.Key, object rest.Object, _ rest.WriteOptions) (rest.Answer, error) {
	review := object.(*authorizationv1.SelfSubjectAccessReview)
	enter(review, "")
	asked := question{review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes}
	if err := invalid(append(asked.errors(), mustBeEmpty(review.ObjectMeta, "must be empty")...)); err != nil {
		return nil, err
	}
	review.Status = asked.answer(ctx, s.authorizer, request.UserFrom(ctx))
	return rest.MakeAnswer(review), nil
}

// New implements rest.Creater.
func (subjectAccessReviews) New() rest.Object { return &authorizationv1.SubjectAccessReview{} }

// Create implements rest.Creater.
func (s subjectAccessReviews) Create(ctx context.Context, _ rest.Key, object rest.Object, _ rest.WriteOptions) (rest.Answer, error) {
	review := object.(*authorizationv1.SubjectAccessReview)
	enter(review, "")
	if err := invalid(append(subjectErrors(review.Spec), mustBeEmpty(review.ObjectMeta, "must be empty")...)); err != nil {
		return nil, err
	}
	review.Status = answerOf(ctx, s.authorizer, review.Spec)
	return rest.MakeAnswer(review), nil
}

// New implements rest.Creater.
func (localSubjectAccessReviews) New() rest.Object {
	return &authorizationv1.LocalSubjectAccessReview{}
}

// Create implements rest.Creater. The namespace need not be there.
func (l localSubjectAccessReviews) Create(ctx context.Context, key rest.Key, object rest.Object, _ rest.WriteOptions) (rest.Answer, error) {
	review := object.(*authorizationv1.LocalSubjectAccessReview)
	if err := rest.CheckNamespace(review, key.Namespace); err != nil {
		return nil, err
	}
	enter(review, key.Namespace)
	if err := invalid(append(subjectErrors(review.Spec), localErrors(review)...)); err != nil {
		return nil, err
	}
	review.Status = answerOf(ctx, l.authorizer, review.Spec)
	return rest.MakeAnswer(review), nil
}

func answerOf(ctx context.Context, decides authorizer.Authorizer, spec authorizationv1.SubjectAccessReviewSpec) authorizationv1.SubjectAccessReviewStatus {
	who := &user.Info{Name: spec.User, UID: spec.UID, Groups: spec.Groups}
	for key, values := range spec.Extra {
		if who.Extra == nil {
			who.Extra = map[string][]string{}
		}
		who.Extra[key] = values
	}
	return question{spec.ResourceAttributes, spec.NonResourceAttributes}.answer(ctx, decides, who)
}

// question is what a review asks: whether one of the two is allowed.
type question struct {
	resource *authorizationv1.ResourceAttributes
	path     *authorizationv1.NonResourceAttributes
}

// answer asks the authorizer whether a user may do it.
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

// attributes leaves the selectors out: an authorizer here does not know them, so what it
// allows it allows for all objects.
func (q question) attributes(who *user.Info) authorizer.Attributes {
	r := q.resource
	if r == nil {
		return authorizer.Attributes{User: who, Verb: q.path.Verb, Path: q.path.Path}
	}
	return authorizer.Attributes{User: who, IsResource: true, Verb: r.Verb, APIGroup: r.Group, APIVersion: cmp.Or(r.Version, "*"),
		Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name}
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
