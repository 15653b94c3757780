package authenticator

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/auth/user"
)

func TestTheTokenOfAWebSocketIsKnownOrAnErrorButNeverAnonymous(t *testing.T) {
	t.Parallel()
	const right, wrong, late = tokenProtocol + "czNjcmV0", tokenProtocol + "c2VjcmV0", tokenProtocol + "bGF0ZQ"
	for _, row := range []struct {
		name   string
		header []string
		user   string
		err    error
		left   string
	}{
		{"no header", nil, user.Anonymous, nil, ""},
		{"another protocol", []string{"chat"}, user.Anonymous, nil, "chat"},
		{"a token", []string{right + ", chat"}, "ann", nil, "chat"},
		{"a token after others", []string{"chat,talk", right}, "ann", nil, "chat, talk"},
		{"a token alone", []string{right}, "", errNoProtocol, right},
		{"an unknown token", []string{wrong + ", chat"}, "", ErrInvalidToken, wrong + ", chat"},
		{"a token that somebody knows is wrong", []string{late + ", chat"}, "", errOne, late + ", chat"},
		{"two tokens", []string{right + ", " + right + ", chat"}, "", ErrInvalidToken, right + ", " + right + ", chat"},
		{"no token", []string{tokenProtocol + ", chat"}, "", ErrInvalidToken, tokenProtocol + ", chat"},
		{"a token that is not encoded", []string{tokenProtocol + "s3cret!, chat"}, "", ErrInvalidToken, tokenProtocol + "s3cret!, chat"},
		{"a token with padding", []string{tokenProtocol + "bGF0ZQ==, chat"}, "", ErrInvalidToken, tokenProtocol + "bGF0ZQ==, chat"},
	} {
		req := request()
		req.Header["Sec-Websocket-Protocol"] = row.header
		who, ok, err := Anonymous(WebSocket(secret)).AuthenticateRequest(req)
		assert.Equal(t, row.user != "", ok, row.name)
		assert.Equal(t, row.err, err, row.name)
		if ok {
			assert.Equal(t, row.user, who.Name, row.name)
			assert.Equal(t, row.left, req.Header.Get(protocols), row.name)
		}
	}
}
