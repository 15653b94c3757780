package server

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
)

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	s.ctx, s.end = context.WithCancel(t.Context())
	for range maxSessions {
		require.True(t, s.begin())
	}
	w := httptest.NewRecorder()
	s.session(func(http.ResponseWriter, *http.Request) { assert.Fail(t, "one too many") })(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "10", w.Header().Get("Retry-After"))
	s.done()
	assert.True(t, s.begin())
	for range maxSessions {
		s.done()
	}
	s.close()
	assert.False(t, s.begin(), "it is closed")
}

func TestOnlyPagesOfTheSameSiteMayConnect(t *testing.T) {
	t.Parallel()
	for origin, same := range map[string]bool{"": true, "http://10.0.0.1:10250": true, "https://10.0.0.1:10250": true, "http://10.0.0.1": false, "null": false, "http://[": false} {
		req := httptest.NewRequest(http.MethodGet, "http://10.0.0.1:10250/exec", nil)
		req.Header.Set("Origin", origin)
		if origin == "" {
			req.Header.Del("Origin")
		}
		assert.Equal(t, same, isSameSite(req), origin)
	}
}

// fakeStream is a stream that its client has opened.
type fakeStream struct {
	httpstream.Stream
	header http.Header
	reset  chan struct{}
}

func newStream(id, kind string) *fakeStream {
	s := &fakeStream{header: http.Header{}, reset: make(chan struct{})}
	s.header.Set(corev1.PortForwardRequestIDHeader, id)
	s.header.Set(corev1.StreamType, kind)
	return s
}

func (s *fakeStream) Headers() http.Header { return s.header }
func (s *fakeStream) Reset() error         { close(s.reset); return nil }

func (s *fakeStream) isReset() bool {
	select {
	case <-s.reset:
		return true
	default:
		return false
	}
}

// fakeConnection is that of a client.
type fakeConnection struct {
	httpstream.Connection
	closed chan bool
}

func (c *fakeConnection) CloseChan() <-chan bool             { return c.closed }
func (c *fakeConnection) Close() error                       { return nil }
func (c *fakeConnection) RemoveStreams(...httpstream.Stream) {}

func TestAForwardedConnectionNeedsBothOfItsStreamsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, streams := &fakeConnection{closed: make(chan bool)}, make(chan opened)
		done := make(chan struct{})
		go func() {
			defer close(done)
			forwarder{}.serve(t.Context(), conn, streams)
		}()
		first, again, strange := newStream("1", "data"), newStream("1", "data"), newStream("2", "strange")
		for _, s := range []*fakeStream{first, again, strange} {
			streams <- opened{Stream: s}
		}
		time.Sleep(createTimeout - time.Millisecond)
		assert.False(t, first.isReset())
		assert.True(t, again.isReset())
		assert.True(t, strange.isReset())
		var more []*fakeStream
		for range maxForwards {
			s := newStream(string(rune('a'+len(more))), "error")
			more = append(more, s)
			streams <- opened{Stream: s}
		}
		synctest.Wait()
		refused := 0
		for _, s := range more {
			if s.isReset() {
				refused++
			}
		}
		assert.Equal(t, 2, refused, "two wait already")
		time.Sleep(time.Second)
		assert.True(t, first.isReset(), "it has waited for too long")
		last := newStream("last", "data")
		streams <- opened{Stream: last}
		synctest.Wait()
		assert.False(t, last.isReset(), "there is place again")
		close(conn.closed)
		<-done
	})
}

func TestOnePortSpeaksWithAndWithoutTLS(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := New(nil, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(listener)
	}()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	var subjects []string
	for _, scheme := range []string{"http", "https", "http", "https"} {
		resp, err := client.Get(scheme + "://" + listener.Addr().String() + "/healthz")
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, "ok", string(text))
		if resp.TLS != nil {
			subjects = append(subjects, string(resp.TLS.PeerCertificates[0].Raw))
		}
	}
	require.Len(t, subjects, 2)
	assert.Equal(t, subjects[0], subjects[1], "it is made once")
	for _, garbage := range []string{"\x16\x03\x01garbage garbage garbage", "garbage\r\n\r\n"} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, garbage)
		require.NoError(t, err)
		_, _ = io.ReadAll(conn) // it is closed, with or without an error
		require.NoError(t, conn.Close())
	}
	quiet, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	s.Close()
	<-done
	_, err = quiet.Read(make([]byte, 1))
	assert.Error(t, err, "it ends with the server")
	require.NoError(t, quiet.Close())
}
