package reviews

import (
	"context"
	"log"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/user/userinfo"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

type (
	selfSubjectReviews struct{ now func() time.Time }
	tokenReviews       struct{ tokens authenticator.Token }
)

// New implements rest.Creater.
func (selfSubjectReviews) New() rest.Object { return &authenticationv1.SelfSubjectReview{} }

// Create implements rest.Creater.
func (s selfSubjectReviews) Create(ctx context.Context, _ rest.Key, object rest.Object, _ rest.WriteOptions) (rest.Answer, error) {
	review := object.(*authenticationv1.SelfSubjectReview)
	enter(review, "")
	review.CreationTimestamp = metav1.Time{Time: s.now().UTC()}.Rfc3339Copy()
	review.Status.UserInfo = userinfo.Of(request.UserFrom(ctx))
	return rest.MakeAnswer(review), nil
}

// New implements rest.Creater.
func (tokenReviews) New() rest.Object { return &authenticationv1.TokenReview{} }

// Create implements rest.Creater. Audiences are not known here: as the API has it, an answer
// without any says that the token is good for this server.
func (t tokenReviews) Create(ctx context.Context, _ rest.Key, object rest.Object, _ rest.WriteOptions) (rest.Answer, error) {
	review := object.(*authenticationv1.TokenReview)
	token := review.Spec.Token
	if token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	enter(review, "")
	review.Status = authenticationv1.TokenReviewStatus{}
	if t.tokens == nil {
		return rest.MakeAnswer(review), nil
	}
	who, ok, err := t.tokens.AuthenticateToken(ctx, token)
	if err != nil && !strings.Contains(err.Error(), token) {
		log.Printf("A token to be reviewed is not accepted: %s", api.Printable(short(err), ' '))
	}
	if ok && err == nil {
		review.Status.Authenticated, review.Status.User = true, userinfo.Of(who.Known())
	} else {
		review.Status.Error = "invalid bearer token"
	}
	return rest.MakeAnswer(review), nil
}
