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
		encoded, others := splitProtocols(req.Header)
		if len(encoded) == 0 {
			return nil, false, nil
		}
		token, err := base64.RawURLEncoding.DecodeString(encoded[0])
		switch {
		case err != nil, len(token) == 0, len(encoded) > 1:
			return nil, false, ErrInvalidToken
		case len(others) == 0:
			return nil, false, errNoProtocol
		}
		who, err := ownerOf(req, tokens, string(token))
		if err != nil {
			return nil, false, err
		}
		req.Header.Set(protocols, strings.Join(others, ", "))
		return who, true, nil
	})
}

// RemoveTokens removes the tokens among the protocols of a web socket from a request that somebody else will read.
func RemoveTokens(header http.Header) {
	tokens, others := splitProtocols(header)
	switch {
	case len(tokens) == 0:
	case len(others) == 0:
		header.Del(protocols)
	default:
		header.Set(protocols, strings.Join(others, ", "))
	}
}

// splitProtocols returns the encoded tokens among the protocols of a web socket, and the other protocols.
func splitProtocols(header http.Header) (tokens, others []string) {
	for _, protocol := range strings.Split(strings.Join(header.Values(protocols), ","), ",") {
		protocol = strings.TrimSpace(protocol)
		if token, isToken := strings.CutPrefix(protocol, tokenProtocol); isToken {
			tokens = append(tokens, token)
		} else {
			others = append(others, protocol)
		}
	}
	return tokens, others
}
