package authenticator

import (
	"errors"
	"net/http"

	"kube2014/pkg/auth/user"
)

// ErrNotUnderstood is the error of credentials that no authenticator knows what to do with.
var ErrNotUnderstood = errors.New("no authenticator understands the credentials of the request")

// Anonymous lets a request without any credentials be that of the anonymous user. Credentials
// that next does not understand, an Authorization header or a client certificate, are an error.
func Anonymous(next Request) Request {
	anonymous := &user.Info{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		// Bearer takes the header away only from a known user.
		who, ok, err := next.AuthenticateRequest(req)
		switch {
		case ok || err != nil:
			return who, ok, err
		case len(req.Header.Values("Authorization")) > 0, len(peer(req)) > 0:
			return nil, false, ErrNotUnderstood
		}
		return anonymous, true, nil
	})
}
