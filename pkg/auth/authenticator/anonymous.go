package authenticator

import (
	"errors"
	"net/http"

	"kube2014/pkg/auth/user"
)

// ErrNotUnderstood is the error of credentials of a kind that no authenticator knows.
var ErrNotUnderstood = errors.New("no authenticator understands the credentials of the request")

// Anonymous authenticates a request without credentials as the anonymous user. Credentials that
// next does not know, an Authorization header or a client certificate, are an error.
func Anonymous(next Request) Request {
	anonymous := &user.Info{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		// Bearer removes the header only if it knows the user.
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

// Groups adds the group of all authenticated users to the users of next, as user.Info.Known does.
func Groups(next Request) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		who, ok, err := next.AuthenticateRequest(req)
		if ok {
			who = who.Known()
		}
		return who, ok, err
	})
}
