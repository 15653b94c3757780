// Package webhook lets another server find out whose a bearer token is, by a TokenReview.
package webhook

import (
	"context"
	"errors"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/webhook"
)

// DefaultTTL is how long an answer counts, if nobody says something else.
const DefaultTTL = 2 * time.Minute

const maxKept = 4096

// Authenticator is an authenticator.Token that asks another server.
type Authenticator struct {
	post  func(ctx context.Context, review, answer any) error
	ttl   time.Duration
	known *webhook.Cache[*user.Info] // nil for a token that the server does not know
}

// New returns an authenticator that asks by post, the method of a webhook.Client. An answer
// counts as long as ttl says, whether the server knows the token or not; an error does not.
func New(post func(ctx context.Context, review, answer any) error, ttl time.Duration) *Authenticator {
	return &Authenticator{post, ttl, webhook.NewCache[*user.Info](maxKept)}
}

// AuthenticateToken implements authenticator.Token. If the server cannot be asked, or has an
// error of its own, that is an error, without the token.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*user.Info, bool, error) {
	if token == "" {
		return nil, false, nil
	}
	who, err := a.known.Do(ctx, []byte(token), func(ctx context.Context) (*user.Info, time.Duration, error) {
		who, err := a.ask(ctx, token)
		return who, a.ttl, err
	})
	return who, who != nil, err
}

func (a *Authenticator) ask(ctx context.Context, token string) (*user.Info, error) {
	review := authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token},
	}
	var answer authenticationv1.TokenReview
	if err := a.post(ctx, &review, &answer); err != nil {
		return nil, err
	}
	told := answer.Status
	switch {
	case !told.Authenticated && told.Error != "":
		return nil, errors.New("the authentication webhook says: " + safe(told.Error, token))
	case !told.Authenticated:
		return nil, nil
	case told.User.Username == "":
		return nil, errors.New("the authentication webhook knows a user without a name")
	}
	who := &user.Info{Name: told.User.Username, UID: told.User.UID, Groups: told.User.Groups}
	if len(told.User.Extra) > 0 {
		who.Extra = map[string][]string{}
		for key, values := range told.User.Extra {
			who.Extra[strings.ToLower(key)] = append(who.Extra[strings.ToLower(key)], values...)
		}
	}
	return who, nil
}

// safe takes a token out of words of the server, which are then as long as a line of a log.
func safe(text, token string) string {
	text = strings.ReplaceAll(text, token, "TOKEN")
	if len(text) > 500 {
		text = text[:500] + "..."
	}
	return strings.ToValidUTF8(text, "")
}
