package endpoints_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/util/loopback"
)

// socket is a watch over a web socket.
type socket struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
}

// dial opens a web socket to a door.
func dial(t *testing.T, d *Door, path string, options *websocket.DialOptions) (*socket, *http.Response, error) {
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	conn, answer, err := websocket.Dial(ctx, server.URL+path, options)
	if err != nil {
		return nil, answer, err
	}
	t.Cleanup(func() { _ = conn.CloseNow() }) // it may be closed
	return &socket{t, ctx, conn}, answer, nil
}

func open(t *testing.T, d *Door, path string) *socket {
	s, _, err := dial(t, d, path, nil)
	require.NoError(t, err)
	return s
}

// next returns the next event.
func (s *socket) next() (one event) {
	s.t.Helper()
	kind, text, err := s.conn.Read(s.ctx)
	require.NoError(s.t, err)
	assert.Equal(s.t, websocket.MessageText, kind)
	require.NoError(s.t, json.Unmarshal(text, &one))
	return one
}

// ends requires that the server closes the socket.
func (s *socket) ends() {
	s.t.Helper()
	_, _, err := s.conn.Read(s.ctx)
	assert.Equal(s.t, websocket.StatusNormalClosure, websocket.CloseStatus(err), err)
}

func TestAWatchMayComeOverAWebSocket(t *testing.T) {
	t.Parallel()
	d := Open(t)
	s := open(t, d, Pods+"?watch=1&timeoutSeconds=60")
	d.Must("POST", Pods, Pod("first", ""))
	d.Must("POST", Pods, Pod("second", ""))
	first, second := s.next(), s.next()
	assert.Equal(t, []string{"ADDED", "first", "Pod"}, []string{first.Type, first.Object.Name, first.Object.Kind})
	assert.Equal(t, "second", second.Object.Name)
	require.NoError(t, s.conn.Write(s.ctx, websocket.MessageText, []byte("what a client says is ignored")))
	d.Must("DELETE", Pods+"/first", "")
	assert.Equal(t, "DELETED", s.next().Type)

	d.EndWatches()
	s.ends()
}

func TestAWebSocketForWhatCannotBeWatchedIsAnsweredAsAnyRequest(t *testing.T) {
	t.Parallel()
	for path, status := range map[string]int{Pods + "?watch=1&resourceVersion=x": 400, Pods + "?watch=1&resourceVersion=999999999": 410, "/api/v1/nothing?watch=1": 404} {
		_, answer, err := dial(t, Open(t), path, nil)
		require.Error(t, err, path)
		assert.Equal(t, status, answer.StatusCode, path)
		assert.Equal(t, "application/json", answer.Header.Get("Content-Type"), path)
	}
}

// D32: a browser lets the pages of other sites open web sockets, and read them.
func TestAPageOfAnotherSiteOpensNoWebSocket(t *testing.T) {
	t.Parallel()
	for origin, status := range map[string]int{"http://127.0.0.1": 403, "https://example.com": 403, "null": 403} {
		_, answer, err := dial(t, Open(t), Pods+"?watch=1", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		require.Error(t, err, origin)
		assert.Equal(t, status, answer.StatusCode, origin)
	}
}

func TestOnlyTheProtocolOfTodaysServerIsAgreedOn(t *testing.T) {
	t.Parallel()
	for asked, agreed := range map[string]string{"": "", "chat": "", "base64.binary.k8s.io": "base64.binary.k8s.io"} {
		_, answer, err := dial(t, Open(t), Pods+"?watch=1", &websocket.DialOptions{Subprotocols: strings.Fields(asked)})
		require.NoError(t, err)
		assert.Equal(t, 101, answer.StatusCode)
		assert.Equal(t, agreed, answer.Header.Get("Sec-WebSocket-Protocol"))
	}
}

func TestAWebSocketWhoseClientHasGoneCountsNoMore(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.MaxWatches = 1
	s := open(t, d, Pods+"?watch=1")
	_, answer, err := dial(t, d, Pods+"?watch=1", nil)
	require.Error(t, err)
	assert.Equal(t, 429, answer.StatusCode)
	require.NoError(t, s.conn.Close(websocket.StatusGoingAway, ""))
	require.Eventually(t, func() bool {
		_, answer, _ := dial(t, d, Pods+"?watch=1", nil)
		return answer.StatusCode == 101
	}, time.Minute, time.Millisecond)
}

// Its client has gone without a word: it neither reads nor answers the end.
func TestTheEndOfAllWatchesHardlyWaitsForAWebSocket(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		d := withPods(t, 1)
		listener := loopback.Listen()
		served := make(chan struct{})
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			defer close(served)
			d.ServeHTTP(w, req)
		})}
		go func() { _ = server.Serve(listener) }() // it ends with the listener
		client := &http.Client{Transport: &http.Transport{DialContext: listener.DialContext}}
		conn, _, err := websocket.Dial(t.Context(), "http://loopback"+Pods+"?watch=1", &websocket.DialOptions{HTTPClient: client})
		require.NoError(t, err)
		synctest.Wait()
		begin := time.Now()
		d.EndWatches()
		<-served
		assert.Equal(t, d.WriteTimeout/10, time.Since(begin), "the event that is being written has a little time")
		time.Sleep(time.Minute) // the bubble's clock: by then the connection is closed
		require.NoError(t, conn.CloseNow())
		require.NoError(t, server.Close())
	})
}
