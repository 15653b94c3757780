// Package webhook lets another server decide who may do what, by a SubjectAccessReview.
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
	"kube2014/pkg/webhook"
)

// How long an answer counts, if nobody says something else.
const (
	DefaultAllowedTTL = 5 * time.Minute
	DefaultOtherTTL   = 30 * time.Second
)

const maxKept = 4096

// Authorizer is an authorizer.Authorizer that asks another server.
type Authorizer struct {
	post                 func(ctx context.Context, review, answer any) error
	allowedTTL, otherTTL time.Duration
	decided              *webhook.Cache[decided]
}

type decided struct {
	decision authorizer.Decision
	reason   string
	err      error
}

// New returns an authorizer that asks by post, the method of a webhook.Client. What the server
// allows counts as long as allowedTTL says, its other answers as long as otherTTL; errors
// do not.
func New(post func(ctx context.Context, review, answer any) error, allowedTTL, otherTTL time.Duration) *Authorizer {
	return &Authorizer{post, allowedTTL, otherTTL, webhook.NewCache[decided](maxKept)}
}

// Authorize implements authorizer.Authorizer. If the server cannot be asked, there is no opinion.
func (a *Authorizer) Authorize(ctx context.Context, about authorizer.Attributes) (authorizer.Decision, string, error) {
	asked := spec(about)
	question, err := json.Marshal(asked)
	if err != nil {
		return authorizer.NoOpinion, "", errors.New("the review cannot be encoded")
	}
	answer, err := a.decided.Do(ctx, question, func(ctx context.Context) (decided, time.Duration, error) {
		return a.ask(ctx, asked)
	})
	if err != nil {
		return authorizer.NoOpinion, "", err
	}
	return answer.decision, answer.reason, answer.err
}

func (a *Authorizer) ask(ctx context.Context, asked authorizationv1.SubjectAccessReviewSpec) (decided, time.Duration, error) {
	review := authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SubjectAccessReview"},
		Spec:     asked,
	}
	var answer authorizationv1.SubjectAccessReview
	if err := a.post(ctx, &review, &answer); err != nil {
		return decided{}, 0, err
	}
	told := answer.Status
	switch {
	case told.Denied && told.Allowed:
		return decided{authorizer.Deny, told.Reason, errors.New("the authorization webhook both allows and denies")}, a.otherTTL, nil
	case told.Denied:
		return decided{authorizer.Deny, told.Reason, nil}, a.otherTTL, nil
	case told.Allowed:
		return decided{authorizer.Allow, told.Reason, nil}, a.allowedTTL, nil
	}
	return decided{authorizer.NoOpinion, told.Reason, nil}, a.otherTTL, nil
}

// RulesFor implements authorizer.RuleResolver: there is no review that asks for them.
func (a *Authorizer) RulesFor(context.Context, *user.Info, string) ([]authorizer.Rule, bool, error) {
	return nil, true, errors.New("the authorization webhook does not list what a user may do")
}

func spec(about authorizer.Attributes) authorizationv1.SubjectAccessReviewSpec {
	asked := authorizationv1.SubjectAccessReviewSpec{User: about.User.Name, UID: about.User.UID, Groups: about.User.Groups}
	if len(about.User.Extra) > 0 {
		asked.Extra = map[string]authorizationv1.ExtraValue{}
		for key, values := range about.User.Extra {
			asked.Extra[key] = values
		}
	}
	if !about.IsResource {
		asked.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: about.Path, Verb: about.Verb}
		return asked
	}
	asked.ResourceAttributes = &authorizationv1.ResourceAttributes{Namespace: about.Namespace, Verb: about.Verb, Group: about.APIGroup,
		Version: about.APIVersion, Resource: about.Resource, Subresource: about.Subresource, Name: about.Name}
	return asked
}
