package reviews

import (
	"context"
	"log"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/user/userinfo"
	"kube2014/pkg/server/request"
)

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
