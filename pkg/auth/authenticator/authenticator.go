// Package authenticator finds out who sends a request.
package authenticator

import (
	"context"
	"net/http"

	"kube2014/pkg/auth/user"
)

// Request finds out who sends a request. It is safe for concurrent use.
//
// Without credentials that it knows, ok is false and err nil: another one may know them. If
// the credentials are wrong or cannot be checked, err tells why, without them: it is logged,
// and never told to the client.
type Request interface {
	AuthenticateRequest(req *http.Request) (who *user.Info, ok bool, err error)
}

// Token finds out whose a bearer token is, as Request does.
type Token interface {
	AuthenticateToken(ctx context.Context, token string) (who *user.Info, ok bool, err error)
}

// RequestFunc is a function that is a Request.
type RequestFunc func(req *http.Request) (*user.Info, bool, error)

// AuthenticateRequest implements Request.
func (f RequestFunc) AuthenticateRequest(req *http.Request) (*user.Info, bool, error) { return f(req) }
