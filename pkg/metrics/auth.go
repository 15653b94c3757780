package metrics

import (
	"context"
	"net/http"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// Authenticator counts the results of an authenticator. A nil one stays nil.
func (m *Metrics) Authenticator(next authenticator.Request) authenticator.Request {
	if next == nil {
		return nil
	}
	return authenticator.RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		who, ok, err := next.AuthenticateRequest(req)
		m.attempts.WithLabelValues(attempt(ok, err)).Inc()
		return who, ok, err
	})
}

func attempt(ok bool, err error) string {
	switch {
	case err != nil:
		return "error"
	case !ok:
		return "failure"
	}
	return "success"
}

// Authorizer counts the decisions of an authorizer. A nil one stays nil.
func (m *Metrics) Authorizer(next authorizer.Authorizer) authorizer.Authorizer {
	if next == nil {
		return nil
	}
	return countingAuthorizer{m, next}
}

// countingAuthorizer implements authorizer.Authorizer.
type countingAuthorizer struct {
	m    *Metrics
	next authorizer.Authorizer
}

func (c countingAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := c.next.Authorize(ctx, a)
	c.m.decisions.WithLabelValues(decided(decision, err)).Inc()
	return decision, reason, err
}

func decided(decision authorizer.Decision, err error) string {
	switch {
	case decision == authorizer.Allow:
		return "allowed"
	case err != nil:
		return "error"
	case decision == authorizer.Deny:
		return "denied"
	}
	return "no-opinion"
}
