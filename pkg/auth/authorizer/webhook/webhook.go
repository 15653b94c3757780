// Package webhook lets another server authorize requests, by a SubjectAccessReview.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/util/answers"
)

const (
	allowedTTL = 5 * time.Minute  // how long an answer is cached that allows
	otherTTL   = 30 * time.Second // how long any other one is
	maxCached  = 4096
)

// Authorizer is an authorizer.Authorizer that calls another server.
type Authorizer struct {
	post      func(ctx context.Context, review, answer any) error
	decisions *answers.Cache[decision]
}

// decision has the results of Authorize.
type decision struct {
	authorizer.Decision
	reason string
	err    error
}

// New returns an authorizer that calls post, the method of a webhook.Client. Errors are not cached.
func New(post func(ctx context.Context, review, answer any) error) *Authorizer {
	return &Authorizer{post, answers.New[decision](maxCached)}
}

// Authorize implements authorizer.Authorizer. If the call fails, there is no opinion.
func (a *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	spec := specOf(attributes)
	key, err := json.Marshal(spec)
	if err != nil {
		return authorizer.NoOpinion, "", errors.New("the review cannot be encoded")
	}
	answer, err := a.decisions.Do(ctx, key, func(ctx context.Context) (decision, time.Duration, error) {
		return a.review(ctx, spec)
	})
	if err != nil {
		return authorizer.NoOpinion, "", err
	}
	return answer.Decision, answer.reason, answer.err
}

func (a *Authorizer) review(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (decision, time.Duration, error) {
	review := authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SubjectAccessReview"},
		Spec:     spec,
	}
	var answer authorizationv1.SubjectAccessReview
	if err := a.post(ctx, &review, &answer); err != nil {
		return decision{}, 0, err
	}
	status := answer.Status
	switch {
	case status.Denied && status.Allowed:
		return decision{authorizer.Deny, status.Reason, errors.New("the authorization webhook both allows and denies")}, otherTTL, nil
	case status.Denied:
		return decision{authorizer.Deny, status.Reason, nil}, otherTTL, nil
	case status.Allowed:
		return decision{authorizer.Allow, status.Reason, nil}, allowedTTL, nil
	}
	return decision{authorizer.NoOpinion, status.Reason, nil}, otherTTL, nil
}

// RulesFor implements authorizer.RuleResolver: no review returns rules.
func (a *Authorizer) RulesFor(context.Context, *user.Info, string) ([]authorizer.Rule, bool, error) {
	return nil, true, errors.New("the authorization webhook does not list what a user may do")
}

func specOf(a authorizer.Attributes) authorizationv1.SubjectAccessReviewSpec {
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: a.User.Name, UID: a.User.UID, Groups: a.User.Groups, Extra: user.ConvertExtra[authorizationv1.ExtraValue](a.User.Extra)}
	if !a.IsResource {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.Path, Verb: a.Verb}
		return spec
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Namespace: a.Namespace, Verb: a.Verb, Group: a.APIGroup,
		Version: a.APIVersion, Resource: a.Resource, Subresource: a.Subresource, Name: a.Name}
	if len(a.FieldSelector) > 0 {
		spec.ResourceAttributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: a.FieldSelector}
	}
	if len(a.LabelSelector) > 0 {
		spec.ResourceAttributes.LabelSelector = &authorizationv1.LabelSelectorAttributes{Requirements: a.LabelSelector}
	}
	return spec
}
