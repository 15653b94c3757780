// Package authenticator identifies the user who sends a request.
package authenticator

import (
	"context"
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
