// Package webhook lets another server authenticate bearer tokens, by a TokenReview.
package webhook

import (
	"context"
	"errors"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/util/answers"
)

// DefaultTTL is the default of how long an answer is cached.
const DefaultTTL = 2 * time.Minute

const maxCached = 4096

// Authenticator is an authenticator.Token that calls another server.
type Authenticator struct {
	post   func(ctx context.Context, review, answer any) error
	ttl    time.Duration
	owners *answers.Cache[*user.Info] // nil for a token that the server does not know
}

// New returns an authenticator that calls post, the method of a webhook.Client. Answers are
// cached for the ttl, also those about unknown tokens; errors are not.
func New(post func(ctx context.Context, review, answer any) error, ttl time.Duration) *Authenticator {
	return &Authenticator{post, ttl, answers.New[*user.Info](maxCached)}
}

// AuthenticateToken implements authenticator.Token. A failed call, or an error that the server
// reports, is an error without the token.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*user.Info, bool, error) {
	if token == "" {
		return nil, false, nil
	}
	who, err := a.owners.Do(ctx, []byte(token), func(ctx context.Context) (*user.Info, time.Duration, error) {
		who, err := a.review(ctx, token)
		return who, a.ttl, err
	})
	return who, who != nil, err
}

func (a *Authenticator) review(ctx context.Context, token string) (*user.Info, error) {
	review := authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token},
	}
	var answer authenticationv1.TokenReview
	if err := a.post(ctx, &review, &answer); err != nil {
		return nil, err
	}
	status, owner := answer.Status, answer.Status.User
	switch {
	case !status.Authenticated && status.Error != "":
		return nil, errors.New("the authentication webhook says: " + safe(status.Error, token))
	case !status.Authenticated:
		return nil, nil
	case owner.Username == "":
		return nil, errors.New("the authentication webhook knows a user without a name")
	}
	who := &user.Info{Name: owner.Username, UID: owner.UID, Groups: owner.Groups}
	if len(owner.Extra) > 0 {
		who.Extra = map[string][]string{}
		for key, values := range owner.Extra {
			who.Extra[strings.ToLower(key)] = append(who.Extra[strings.ToLower(key)], values...)
		}
	}
	return who, nil
}

// safe removes a token from a text of the server, and bounds its length for the log.
func safe(text, token string) string {
	text = strings.ReplaceAll(text, token, "TOKEN")
	if len(text) > 500 {
		text = text[:500] + "..."
	}
	return strings.ToValidUTF8(text, "")
}
