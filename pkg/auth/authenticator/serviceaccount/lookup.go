package serviceaccount

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	noAccount   = "the service account of the token does not exist"
	invalidated = "the service account token has been invalidated"
)

// checkBound returns an error if the account of a token, or an object that it is bound to, is gone.
func (a *Authenticator) checkBound(ctx context.Context, c *claims, token string) error {
	if a.Lookup == nil {
		return nil
	}
	if c.Issuer == legacyIssuer {
		return a.checkSecret(ctx, c, token)
	}
	bound := c.Bound
	err := a.check(ctx, "serviceaccounts", bound.Namespace, &bound.ServiceAccount, noAccount)
	if err == nil {
		err = a.check(ctx, "secrets", bound.Namespace, bound.Secret, invalidated)
	}
	if err == nil {
		err = a.check(ctx, "pods", bound.Namespace, bound.Pod, invalidated)
	}
	if err == nil && bound.Pod == nil { // else the node only informs
		err = a.check(ctx, "nodes", "", bound.Node, invalidated)
	}
	return err
}

// invalidSince is the label of a secret whose token must not be used any more.
const invalidSince = "kubernetes.io/legacy-token-invalid-since"

// checkSecret returns an error if the secret of a token does not hold it any more, or the account is gone.
func (a *Authenticator) checkSecret(ctx context.Context, c *claims, token string) error {
	object, err := a.Lookup(ctx, "secrets", c.Namespace, c.Secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	secret, ok := object.(*corev1.Secret)
	switch {
	case err != nil, !ok, secret.DeletionTimestamp != nil:
		return errors.New(invalidated)
	case subtle.ConstantTimeCompare(secret.Data[corev1.ServiceAccountTokenKey], []byte(token)) == 0:
		return errors.New("the service account token is not the one in its secret")
	}
	if err := a.check(ctx, "serviceaccounts", c.Namespace, &Ref{c.Name, c.UID}, noAccount); err != nil {
		return err
	}
	if secret.Labels[invalidSince] != "" {
		return fmt.Errorf("the secret of the service account token has the label %s", invalidSince)
	}
	return nil
}

// check returns an error with a text if an object, nil for none, is not there any more, or was deleted some time ago.
func (a *Authenticator) check(ctx context.Context, resource, namespace string, wanted *Ref, text string) error {
	if wanted == nil {
		return nil
	}
	object, err := a.Lookup(ctx, resource, namespace, wanted.Name)
	switch {
	case apierrors.IsNotFound(err):
		return errors.New(text)
	case err != nil:
		return err
	case string(object.GetUID()) != wanted.UID:
		return errors.New(text)
	}
	if deleted := object.GetDeletionTimestamp(); deleted != nil && deleted.Time.Before(time.Now().Add(-jwt.DefaultLeeway)) {
		return errors.New(text)
	}
	return nil
}
