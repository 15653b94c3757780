package reviews

import (
	"cmp"
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server/request"
)

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
