package authenticator

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"kube2014/pkg/auth/user"
)

const (
	protocols     = "Sec-WebSocket-Protocol"
	tokenProtocol = "base64url.bearer.authorization.k8s.io."
)

// errNoProtocol is the error of a web socket whose only protocol is a token: the answer must name a
// protocol, and must not repeat the token.
var errNoProtocol = errors.New("the token is the only protocol of the web socket")

// WebSocket identifies who opens a web socket by the bearer token among its protocols, because browsers
// cannot set other headers. The token is encoded as base64url without padding, after the prefix
// "base64url.bearer.authorization.k8s.io."; there must be another protocol too. WebSocket removes the token
// of a known user from the request. An unknown token is an error.
func WebSocket(tokens Token) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		token, others := "", []string(nil)
		for _, protocol := range strings.Split(strings.Join(req.Header.Values(protocols), ","), ",") {
			switch encoded, isToken := strings.CutPrefix(strings.TrimSpace(protocol), tokenProtocol); {
			case !isToken:
				others = append(others, strings.TrimSpace(protocol))
			case token != "":
				return nil, false, ErrInvalidToken
			default:
				decoded, err := base64.RawURLEncoding.DecodeString(encoded)
				if err != nil || len(decoded) == 0 {
					return nil, false, ErrInvalidToken
				}
				token = string(decoded)
			}
		}
		switch {
		case token == "":
			return nil, false, nil
		case len(others) == 0:
			return nil, false, errNoProtocol
		}
		who, err := ownerOf(req, tokens, token)
		if err != nil {
			return nil, false, err
		}
		req.Header.Set(protocols, strings.Join(others, ", "))
		return who, true, nil
	})
}
