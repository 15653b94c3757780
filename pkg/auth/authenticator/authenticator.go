// Package authenticator identifies the user who sends a request.
package authenticator

import (
	"context"
	"fmt"
	"net/http"

	"kube2014/pkg/auth/user"
)

// Request identifies the user of a request. It is safe for concurrent use.
//
// If the request has no credentials of its kind, ok is false and err nil: another authenticator
// may know them. If the credentials are wrong or cannot be checked, err has the reason, but not
// the credentials. It is logged, and never sent to the client.
type Request interface {
	AuthenticateRequest(req *http.Request) (who *user.Info, ok bool, err error)
}

// Token identifies the owner of a bearer token. Its results are those of a Request.
type Token interface {
	AuthenticateToken(ctx context.Context, token string) (who *user.Info, ok bool, err error)
}

// RequestFunc adapts a function to a Request.
type RequestFunc func(req *http.Request) (*user.Info, bool, error)

// AuthenticateRequest implements Request.
func (f RequestFunc) AuthenticateRequest(req *http.Request) (*user.Info, bool, error) { return f(req) }

// Union tries authenticators in order. The first that knows the user wins, even if an earlier
// one has failed. If none does, the error joins all their errors.
func Union(all ...Request) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		return first(all, func(one Request) (*user.Info, bool, error) { return one.AuthenticateRequest(req) })
	})
}

// UnionOfTokens is Union for authenticators of tokens.
func UnionOfTokens(all ...Token) Token {
	return TokenFunc(func(ctx context.Context, token string) (*user.Info, bool, error) {
		return first(all, func(one Token) (*user.Info, bool, error) { return one.AuthenticateToken(ctx, token) })
	})
}

// TokenFunc adapts a function to a Token.
type TokenFunc func(ctx context.Context, token string) (*user.Info, bool, error)

// AuthenticateToken implements Token.
func (f TokenFunc) AuthenticateToken(ctx context.Context, token string) (*user.Info, bool, error) {
	return f(ctx, token)
}

// first returns the first user that an authenticator knows. The errors fit in one line of a log.
func first[A any](all []A, authenticate func(A) (*user.Info, bool, error)) (*user.Info, bool, error) {
	var failed error
	for _, one := range all {
		who, ok, err := authenticate(one)
		switch {
		case ok:
			return who, true, nil
		case failed == nil:
			failed = err
		case err != nil:
			failed = fmt.Errorf("%w; %w", failed, err)
		}
	}
	return nil, false, failed
}
