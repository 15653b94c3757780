package main

import (
	"encoding/base64"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// K81.
func TestThePageIsForEverybodyButWhatItShowsIsNot(t *testing.T) {
	t.Parallel()
	w := everyWay(t)
	s := openSecure(t, append(w.flags, "-anonymous_auth=false", "-authorization_mode", "RBAC")...)
	status, text := s.ask(t, credentials{}, "GET", "/ui/", "")
	assert.Equal(t, 200, status)
	assert.Contains(t, text, "<title>kube2014</title>")
	for _, path := range []string{todaysPods, "/uix", "/api/v1/nodes?watch=1"} {
		status, _ = s.ask(t, credentials{}, "GET", path, "")
		assert.Equal(t, 401, status, path)
	}
	status, _ = s.ask(t, credentials{}, "POST", "/ui/", "{}")
	assert.Equal(t, 401, status, "only what everybody may read is before the guards")
}

func TestThereIsNoPageWithoutTodaysAPI(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-runtime_config", "api/v1=false"}, {"-api_prefix", "/u"}} {
		d := openDoors(t, flags...)
		status, text := d.do("GET", "/ui/", "", "")
		assert.Equal(t, 404, status, flags)
		assert.NotContains(t, text, "<title>")
	}
	status, text := openDoors(t).do("GET", "/", "", "")
	assert.Equal(t, 200, status)
	assert.Equal(t, "<html><body>Welcome to Kubernetes</body></html>", text, "the first door is as it was")
}

// A browser sends no other header with a web socket than the protocols.
func TestATokenAmongTheProtocolsOfAWebSocketIsAsGoodAsInAHeader(t *testing.T) {
	t.Parallel()
	w := everyWay(t)
	s := openSecure(t, append(w.flags, "-authorization_mode", "RBAC")...)
	inProtocol := func(token string) string {
		return "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))
	}
	for protocol, status := range map[string]int{
		"":                                      403,
		inProtocol(adminToken):                  101,
		inProtocol(rightToken):                  403, // bob has no role
		inProtocol("wrong"):                     401,
		inProtocol(adminToken) + ", " + "chat":  101,
		"base64.binary.k8s.io, v4.other.k8s.io": 403,
	} {
		options := &websocket.DialOptions{HTTPClient: clientWith(t, s.trusted, nil)}
		insecureTLS(options.HTTPClient)
		if protocol != "" {
			options.Subprotocols = []string{protocol, "base64.binary.k8s.io"}
		}
		conn, answer, err := websocket.Dial(unhurriedContext(t), s.url+todaysPods+"?watch=1", options)
		require.NotNil(t, answer, protocol)
		assert.Equal(t, status, answer.StatusCode, protocol)
		if err == nil {
			assert.Equal(t, "base64.binary.k8s.io", answer.Header.Get("Sec-WebSocket-Protocol"))
			require.NoError(t, conn.CloseNow())
		}
	}
}
