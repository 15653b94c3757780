package authenticator

import (
	"errors"
	"net/http"
	"strings"

	"kube2014/pkg/auth/user"
)

// ErrInvalidToken is the error of a bearer token that nobody knows.
var ErrInvalidToken = errors.New("invalid bearer token")

// Bearer finds out who sends a request by the token in its header "Authorization: Bearer
// TOKEN". It takes the header of a known user out of the request, so that nobody behind it
// can tell the token on. A token that nobody knows is an error.
func Bearer(tokens Token) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		fields := strings.Fields(req.Header.Get("Authorization"))
		if len(fields) < 2 || !strings.EqualFold(fields[0], "Bearer") {
			return nil, false, nil
		}
		if len(fields) > 2 {
			return nil, false, ErrInvalidToken
		}
		who, ok, err := tokens.AuthenticateToken(req.Context(), fields[1])
		switch {
		case ok:
			req.Header.Del("Authorization")
			return who, true, nil
		case err == nil:
			err = ErrInvalidToken
		}
		return nil, false, err
	})
}
