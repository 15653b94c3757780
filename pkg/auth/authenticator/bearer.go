package authenticator

import (
	"errors"
	"net/http"
	"strings"

	"kube2014/pkg/auth/user"
)

// ErrInvalidToken is the error of an unknown bearer token.
var ErrInvalidToken = errors.New("invalid bearer token")

// Bearer identifies the user by the token in the header "Authorization: Bearer TOKEN". It
// removes the header of a known user, so that no later handler can leak the token. An unknown
// token is an error.
func Bearer(tokens Token) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		fields := strings.Fields(req.Header.Get("Authorization"))
		if len(fields) < 2 || !strings.EqualFold(fields[0], "Bearer") {
			return nil, false, nil
		}
		if len(fields) > 2 {
			return nil, false, ErrInvalidToken
		}
		who, err := ownerOf(req, tokens, fields[1])
		if err != nil {
			return nil, false, err
		}
		req.Header.Del("Authorization")
		return who, true, nil
	})
}

// ownerOf returns the owner of a request's token. An unknown token is an error.
func ownerOf(req *http.Request, tokens Token, token string) (*user.Info, error) {
	who, ok, err := tokens.AuthenticateToken(req.Context(), token)
	if err == nil && !ok {
		err = ErrInvalidToken
	}
	return who, err
}
