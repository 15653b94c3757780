package authenticator

import (
	"context"
	"net/http"
	"strings"

	"kube2014/pkg/auth/user"
)

// Union asks authenticators in turn. The first that knows the user wins, also if one before
// it has failed; if nobody does, the errors of all of them are one error.
func Union(all ...Request) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		return first(all, func(one Request) (*user.Info, bool, error) { return one.AuthenticateRequest(req) })
	})
}

// UnionOfTokens is Union for those who know tokens.
func UnionOfTokens(all ...Token) Token {
	return TokenFunc(func(ctx context.Context, token string) (*user.Info, bool, error) {
		return first(all, func(one Token) (*user.Info, bool, error) { return one.AuthenticateToken(ctx, token) })
	})
}

// TokenFunc is a function that is a Token.
type TokenFunc func(ctx context.Context, token string) (*user.Info, bool, error)

// AuthenticateToken implements Token.
func (f TokenFunc) AuthenticateToken(ctx context.Context, token string) (*user.Info, bool, error) {
	return f(ctx, token)
}

func first[A any](all []A, ask func(A) (*user.Info, bool, error)) (*user.Info, bool, error) {
	var failed failures
	for _, one := range all {
		who, ok, err := ask(one)
		if ok {
			return who, true, nil
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	switch len(failed) {
	case 0:
		return nil, false, nil
	case 1:
		return nil, false, failed[0]
	}
	return nil, false, failed
}

// failures are errors that fit in one line of a log.
type failures []error

func (f failures) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (f failures) Unwrap() []error { return f }
