package serviceaccount

import (
	"context"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// checkBound returns an error if the account of a token, or an object that it is bound to, is gone.
func (a *Authenticator) checkBound(ctx context.Context, c *claims) error {
	if a.Lookup == nil {
		return nil
	}
	bound := c.Bound
	if c.Issuer == legacyIssuer {
		bound = &Bound{Namespace: c.Namespace, ServiceAccount: Ref{c.Name, c.UID}}
	}
	if err := a.check(ctx, "serviceaccounts", bound.Namespace, &bound.ServiceAccount, "the service account of the token does not exist"); err != nil {
		return err
	}
	const invalidated = "the service account token has been invalidated"
	if err := a.check(ctx, "secrets", bound.Namespace, bound.Secret, invalidated); err != nil {
		return err
	}
	if err := a.check(ctx, "pods", bound.Namespace, bound.Pod, invalidated); err != nil {
		return err
	}
	if bound.Pod != nil { // the node only informs then
		return nil
	}
	return a.check(ctx, "nodes", "", bound.Node, invalidated)
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
