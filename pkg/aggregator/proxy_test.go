package aggregator_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARequestGoesToTheOtherServerAsItsUser(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.serve(f.other(http.HandlerFunc(serve)))
	assert.Equal(t, "Passed", f.register("").Reason)
	status, body, _ := f.get("/apis/example.com/v1/things?b=2&a=1", "X-Remote-User", "mallory", "X-Remote-Group", "system:masters", "X-Remote-Extra-Scope", "all",
		"X-Remote-Uid", "0", "Impersonate-User", "mallory", "Authorization", "Bearer secret", "X_Remote_User", "mallory", "Sec-WebSocket-Protocol", "v4.channel, base64url.bearer.authorization.k8s.io.c2VjcmV0", "X-Mine", "kept")
	require.Equal(t, 200, status, body)
	var seen struct {
		URI, Proxy string
		Header     http.Header
	}
	require.NoError(t, json.Unmarshal([]byte(body), &seen))
	assert.Equal(t, "/apis/example.com/v1/things?b=2&a=1", seen.URI)
	assert.Equal(t, "proxy", seen.Proxy)
	for name, values := range map[string][]string{"X-Remote-User": {"alice"}, "X-Remote-Uid": {"7"}, "X-Remote-Group": {"dev", "ops"}, "X-Remote-Extra-Example.com%2fscope": {"a", "b"},
		"X-Remote-Extra-Scope": nil, "Impersonate-User": nil, "Authorization": nil, "X_Remote_User": nil, "Sec-Websocket-Protocol": {"v4.channel"}, "X-Mine": {"kept"}} {
		assert.Equal(t, values, seen.Header[name], name)
	}
}

// K105: today's server writes the query anew, and asks another server for paths with empty parts too.
func TestARequestIsPassedOnAsItIs(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.serve(f.other(http.HandlerFunc(serve)))
	f.register("")
	for uri, sent := range map[string]string{
		"/apis/example.com/v1/things?b=2&a=%20":     "/apis/example.com/v1/things?b=2&a=%20",
		"/apis/example.com/v1/things//x/../y":       "/apis/example.com/v1/things//x/../y",
		"/apis/example.com/v1/things/a%2Fb/%2e%2e?": "/apis/example.com/v1/things/a/b/..", // the path by which rights are asked for
		"/apis/example.com/v1/things/a%0Ab":         "/apis/example.com/v1/things/a%0Ab",
		"/apis/example.com/v1/things?a=1;b=2&c=3":   "/apis/example.com/v1/things?c=3",
	} {
		_, body, _ := f.get(uri, "Forwarded", "for=mallory", "X-Forwarded-For", "10.0.0.1")
		var seen struct {
			URI    string
			Header http.Header
		}
		require.NoError(t, json.Unmarshal([]byte(body), &seen), body)
		assert.Equal(t, sent, strings.TrimSuffix(seen.URI, "?"))
		path, _, _ := strings.Cut(sent, "?")
		assert.Equal(t, []string{path}, seen.Header["X-Forwarded-Uri"])
		assert.Equal(t, []string{"10.0.0.1, 127.0.0.1"}, seen.Header["X-Forwarded-For"])
		assert.Empty(t, seen.Header["Forwarded"])
	}
	for _, uri := range []string{"//apis/example.com/v1/things", "/openapi/v3//apis/example.com/v1", "/apis//example.com/v1/things"} {
		_, body, _ := f.get(uri)
		assert.NotContains(t, body, `"uri"`, "no other server is asked for "+uri)
	}
}

func TestAnAnswerIsPassedOnAsItIs(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.serve(f.other(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/apis/example.com/v1":
			list(w, req)
		case "/apis/example.com/v1/elsewhere":
			http.Redirect(w, req, "https://elsewhere.example.com/", http.StatusFound)
		case "/apis/example.com/v1/cut":
			_, _ = w.Write([]byte("cut"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/apis/example.com/v1/statusless":
			conn, _, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				_, _ = io.WriteString(conn, "HTTP/1.1 042 Nothing\r\nContent-Length: 0\r\n\r\n")
				_ = conn.Close()
			}
		default:
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Audit-Id", "theirs")
			w.Header().Set("X-Theirs", "kept")
			http.Error(w, "a teapot", http.StatusTeapot)
		}
	})))
	f.register("")
	status, body, header := f.get("/apis/example.com/v1/things")
	assert.Equal(t, []any{418, "a teapot\n", "kept", "", ""}, []any{status, body, header.Get("X-Theirs"), header.Get("Access-Control-Allow-Origin"), header.Get("Audit-Id")})
	status, body, header = f.get("/apis/example.com/v1/elsewhere")
	assert.Equal(t, []any{502, "the backend attempted to redirect this request, which is not permitted", ""}, []any{status, body, header.Get("Location")})
	status, body, _ = f.get("/apis/example.com/v1/cut")
	assert.Equal(t, []any{200, "cut"}, []any{status, body})
	status, body, _ = f.get("/apis/example.com/v1/statusless", "Connection", "upgrade", "Upgrade", "echo") // such a request comes by HTTP/1.1
	assert.Equal(t, []any{503, "error trying to reach service: it answers with the status 42\n"}, []any{status, body})
}

func TestAWatchIsPassedOnEventByEventAndEndsWithTheServer(t *testing.T) {
	t.Parallel()
	f := open(t)
	next := make(chan string)
	f.serve(f.other(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !req.URL.Query().Has("watch") {
			list(w, req)
			return
		}
		for {
			select {
			case event := <-next:
				_, _ = w.Write([]byte(event + "\n"))
				_ = http.NewResponseController(w).Flush()
			case <-req.Context().Done():
				close(next)
				return
			}
		}
	})))
	f.register("")
	go func() { next <- "first" }()
	res, err := http.Get(f.url + "/apis/example.com/v1/things?watch=1")
	require.NoError(t, err)
	defer res.Body.Close()
	events := bufio.NewScanner(res.Body)
	require.True(t, events.Scan())
	assert.Equal(t, "first", events.Text())
	next <- "second"
	require.True(t, events.Scan())
	assert.Equal(t, "second", events.Text())
	f.end()
	<-next // the other server has noticed
	assert.False(t, events.Scan())
}

func TestAConnectionIsUpgraded(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.serve(f.other(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Upgrade") == "" {
			list(w, req)
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello "+req.Header.Get("X-Remote-User")+"\n")
		_, _ = io.Copy(conn, buffered)
	})))
	f.register("")
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /apis/example.com/v1/things/x/connect HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	require.NoError(t, err)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	assert.Equal(t, 101, answer.StatusCode)
	_, err = io.WriteString(conn, "ping\n")
	require.NoError(t, err)
	for _, want := range []string{"hello alice\n", "ping\n"} {
		line, err := reader.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, want, line)
	}
	f.end()
	_, err = reader.ReadByte()
	assert.ErrorIs(t, err, io.EOF)
}

// K105: to today's server, all circles are endless.
func TestARequestThatGoesRoundInCirclesEnds(t *testing.T) {
	t.Parallel()
	f := open(t)
	var passed atomic.Int32
	f.serve(f.other(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/apis/example.com/v1/things" {
			list(w, req)
			return
		}
		passed.Add(1)
		again := req.Clone(req.Context())
		again.RequestURI, again.URL.Scheme, again.URL.Host = "", "http", strings.TrimPrefix(f.url, "http://")
		answer, err := f.transport.RoundTrip(again)
		if !assert.NoError(t, err) {
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	})))
	f.register("")
	status, body, _ := f.get("/apis/example.com/v1/things")
	assert.Equal(t, 508, status)
	assert.Contains(t, body, "the request goes round in circles")
	assert.EqualValues(t, 16, passed.Load())
}
