package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
)

func TestNoSessionBeginsAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	s.ctx, s.end = context.WithCancel(t.Context())
	s.close()
	w := httptest.NewRecorder()
	s.session(func(http.ResponseWriter, *http.Request) { assert.Fail(t, "it has ended") })(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
}

// K113.
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
	s.header.Set(corev1.PortHeader, "80")
	return s
}

func (s *fakeStream) Headers() http.Header      { return s.header }
func (s *fakeStream) Reset() error              { close(s.reset); return nil }
func (s *fakeStream) Close() error              { return nil }
func (s *fakeStream) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

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

func TestAForwardedConnectionNeedsBothOfItsStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn, streams := &fakeConnection{closed: make(chan bool)}, make(chan opened)
		done := make(chan struct{})
		told := make(chan struct{})
		close(told)
		release := make(chan struct{})
		dial := func(context.Context, string, string) (net.Conn, error) {
			<-release
			return nil, errors.New("refused")
		}
		go func() {
			defer close(done)
			forwarder{anyPod{}, dial}.serve(t.Context(), conn, streams)
		}()
		first, again, strange := newStream("1", "data"), newStream("1", "data"), newStream("1", "strange")
		for _, s := range []*fakeStream{first, again, strange} {
			streams <- opened{s, told}
		}
		synctest.Wait()
		assert.Equal(t, []bool{false, true, true}, []bool{first.isReset(), again.isReset(), strange.isReset()})
		streams <- opened{newStream("1", "error"), told} // the port is asked
		var more []*fakeStream
		for i := range maxForwards {
			s := newStream(fmt.Sprint("more ", i), "error")
			more = append(more, s)
			streams <- opened{s, told}
		}
		synctest.Wait()
		refused := slices.IndexFunc(more, (*fakeStream).isReset)
		assert.Equal(t, maxForwards-1, refused, "one is there already")
		close(release)
		synctest.Wait()
		assert.True(t, first.isReset(), "it could not be connected")
		last := newStream("last", "data")
		streams <- opened{last, told}
		synctest.Wait()
		assert.False(t, last.isReset(), "there is place again")
		close(conn.closed)
		<-done
	})
}

// anyPod is a pod at no address.
type anyPod struct{ Pod }

func (anyPod) Address(uint16) string { return "" }
func (anyPod) Object() corev1.Pod    { return corev1.Pod{} }

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
