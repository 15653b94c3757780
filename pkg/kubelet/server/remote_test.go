package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"

	"kube2014/pkg/kubelet/cri"
)

// ask asks for the streams of a command.
func ask(stdin bool, command ...string) url.Values {
	query := url.Values{"output": {"1"}, "error": {"1"}, "command": command}
	if stdin {
		query.Set("input", "1")
	}
	return query
}

// run runs a command as kubectl does.
func (s served) run(t *testing.T, protocol, path, stdin string, command ...string) (stdout, stderr string, err error) {
	p := protocols[protocol]
	executor, err := p.executor(s.config(p.scheme), s.url(p.scheme, path, ask(stdin != "", command...)))
	require.NoError(t, err)
	var out, errs bytes.Buffer
	options := remotecommand.StreamOptions{Stdout: &out, Stderr: &errs}
	if stdin != "" {
		options.Stdin = strings.NewReader(stdin)
	}
	err = executor.StreamWithContext(t.Context(), options)
	return out.String(), errs.String(), err
}

// K113.
func TestACommandIsRunOverEachProtocol(t *testing.T) {
	t.Parallel()
	s := serve(t, &fakePod{run: startHollow(t, plain)})
	for name := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			long := strings.Repeat("0123456789abcdef", 1<<16)
			for _, path := range []string{"/exec/default/web/web", "/exec/default/web/u1/web"} {
				out, errs, err := s.run(t, name, path, long, "cat")
				require.NoError(t, err)
				assert.Equal(t, long, out)
				assert.Empty(t, errs)
			}
			out, errs, err := s.run(t, name, "/exec/default/web/web", "", "cat", "/etc/hostname", "/nope")
			assert.Equal(t, "web\n", out)
			assert.Equal(t, "cat: /nope: no such file or directory\n", errs)
			assert.Equal(t, utilexec.CodeExitError{Err: errors.New("command terminated with exit code 1"), Code: 1}, err)
			_, _, err = s.run(t, name, "/exec/default/web/web", "", "sh", "-c", "true")
			assert.EqualError(t, err, `Internal error occurred: error executing command in container: exec: "sh": executable file not found in $PATH`)
		})
	}
}

func TestAClientIsAttachedToTheCommandOfAContainer(t *testing.T) {
	t.Parallel()
	for name := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startHollow(t, func(spec *cri.Spec) {
				spec.Container = &corev1.Container{Args: []string{"cat"}, Stdin: true, StdinOnce: true}
			})
			out, _, err := serve(t, &fakePod{run: c}).run(t, name, "/attach/default/web/web", "a\nb\n")
			require.NoError(t, err)
			assert.Equal(t, "a\nb\n", out)
		})
	}
}

func TestATerminalShowsWhatIsTypedWithItsErrors(t *testing.T) {
	t.Parallel()
	s := serve(t, &fakePod{run: startHollow(t, plain)})
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			query := ask(true, "cat", "/nope", "-")
			query.Set("tty", "1")
			executor, err := p.executor(s.config(p.scheme), s.url(p.scheme, "/exec/default/web/web", query))
			require.NoError(t, err)
			var out bytes.Buffer
			err = executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("hi\r\x04"), Stdout: &out, Tty: true, TerminalSizeQueue: oneSize{}})
			assert.Equal(t, utilexec.CodeExitError{Err: errors.New("command terminated with exit code 1"), Code: 1}, err)
			assert.Contains(t, out.String(), "cat: /nope: no such file or directory\r\n")
			assert.Equal(t, 2, strings.Count(out.String(), "hi\r\n"))
		})
	}
}

// oneSize is a terminal whose size does not change.
type oneSize struct{}

func (oneSize) Next() *remotecommand.TerminalSize { return nil }

// message is one of a web socket: its channel and its text.
func readMessages(t *testing.T, conn *websocket.Conn) (all []string) {
	for {
		_, text, err := conn.Read(t.Context())
		if err != nil {
			return all
		}
		if len(text) > 1 {
			all = append(all, string(text))
		}
	}
}

func TestAnOlderWebSocketHasNumberedChannels(t *testing.T) {
	t.Parallel()
	s := serve(t, &fakePod{run: startHollow(t, plain)})
	const protocol = "v4.channel.k8s.io"
	conn, _, err := websocket.Dial(t.Context(), s.url("ws", "/exec/default/web/web", ask(false, "echo", "hi")).String(), &websocket.DialOptions{Subprotocols: []string{protocol}})
	require.NoError(t, err)
	defer conn.CloseNow()
	assert.Equal(t, protocol, conn.Subprotocol())
	assert.Equal(t, []string{"\x01hi\n", "\x03" + `{"metadata":{},"status":"Success"}`}, readMessages(t, conn))
}

func TestARequestForStreamsThatCannotBeIsAnswered(t *testing.T) {
	t.Parallel()
	runs, waits := serve(t, &fakePod{run: startHollow(t, plain)}), serve(t, &fakePod{})
	for name, row := range map[string]struct {
		server       served
		method, path string
		header       http.Header
		status       int
		text         string
	}{
		"no streams":                {runs, "GET", "/exec/default/web/web?command=true", nil, 400, "you must specify at least 1 of stdin, stdout, stderr\n"},
		"no streams of a terminal":  {runs, "GET", "/exec/default/web/web?error=1&tty=1", nil, 400, "you must specify at least 1 of stdin, stdout, stderr\n"},
		"no pod":                    {runs, "POST", "/exec/default/nope/web?output=1", nil, 404, "pod does not exist\n"},
		"another namespace":         {runs, "POST", "/attach/other/web/web?output=1", nil, 404, "pod does not exist\n"},
		"no container":              {runs, "GET", "/exec/default/web/nope?output=1", nil, 500, "container not found (\"nope\")\n"},
		"a container that does not": {waits, "GET", "/attach/default/web/web?output=1", nil, 500, "container not found (\"web\")\n"},
		"another uid":               {runs, "GET", "/exec/default/web/u2/web?output=1", nil, 500, "container not found (\"web\")\n"},
		"no upgrade":                {runs, "GET", "/exec/default/web/web?output=1", nil, 400, "Upgrade request required\n"},
		"another protocol":          {runs, "POST", "/exec/default/web/web?output=1", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"h2c"}}, 400, "Upgrade request required\n"},
		"no version of streams":     {runs, "POST", "/exec/default/web/web?output=1", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}, 400, "unable to upgrade: header X-Stream-Protocol-Version does not exist in request"},
		"an unknown version":        {runs, "POST", "/exec/default/web/web?output=1", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}, "X-Stream-Protocol-Version": {"v9"}}, 403, "unable to negotiate protocol"},
		"a page of another site":    {runs, "GET", "/exec/default/web/web?output=1", http.Header{"Origin": {"http://evil.example"}}, 403, "a page of another site may not connect\n"},
		"another method":            {runs, "PUT", "/exec/default/web/web?output=1", nil, 405, "Method Not Allowed\n"},
		"no pod to forward to":      {runs, "POST", "/portForward/default/nope", nil, 404, "pod does not exist\n"},
		"a uid to forward to":       {runs, "POST", "/portForward/default/web/u2", nil, 404, "pod not found\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), row.method, "http://"+row.server.host+row.path, nil)
			require.NoError(t, err)
			for key, values := range row.header {
				req.Header[key] = values
			}
			resp, err := anyCertificate.Do(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, row.status, resp.StatusCode)
			assert.Contains(t, string(text), row.text)
		})
	}
}

func TestOtherStreamsAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, &fakePod{run: startHollow(t, plain)})
	dialer, err := spdyDialer(s.config("http"), s.url("http", "/exec/default/web/web", ask(false, "sleep", "1h")))
	require.NoError(t, err)
	conn, _, err := dialer.Dial("v4.channel.k8s.io")
	require.NoError(t, err)
	defer conn.Close()
	for _, row := range []struct {
		kind string
		ok   bool
	}{{"strange", false}, {"stdin", false}, {"error", true}, {"error", false}, {"stdout", true}, {"stderr", true}, {"stdout", false}, {"resize", false}} {
		stream, err := conn.CreateStream(http.Header{http.CanonicalHeaderKey(corev1.StreamType): {row.kind}})
		if row.ok {
			require.NoError(t, err)
		} else if err == nil { // it is told after the answer
			_, err = io.ReadAll(stream)
			assert.NoError(t, err, "it has ended, while the command runs")
		}
	}
}

// waiting is a container whose commands run until their context ends.
type waiting struct {
	cri.Container
	begun, ended chan struct{}
}

func newWaiting() *waiting { return &waiting{begun: make(chan struct{}), ended: make(chan struct{})} }

func (w *waiting) Exec(ctx context.Context, _ []string, _ cri.Streams) (int32, error) {
	close(w.begun)
	<-ctx.Done()
	close(w.ended)
	return 137, nil
}

func TestACommandEndsWhenItsClientHasGone(t *testing.T) {
	t.Parallel()
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWaiting()
			s := serve(t, &fakePod{run: w})
			executor, err := p.executor(s.config(p.scheme), s.url(p.scheme, "/exec/default/web/web", ask(false, "x")))
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_ = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard})
			}()
			<-w.begun
			cancel()
			<-w.ended
		})
	}
}

func TestACommandEndsWhenTheConnectionOfItsClientIsCut(t *testing.T) {
	t.Parallel()
	w := newWaiting()
	conn, err := net.Dial("tcp", serve(t, &fakePod{run: w}).host)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /exec/default/web/web?output=1 HTTP/1.1\r\nHost: k\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	streams, err := streamspdy.NewClientConnection(conn)
	require.NoError(t, err)
	for _, kind := range []string{"error", "stdout"} {
		_, err := streams.CreateStream(http.Header{http.CanonicalHeaderKey(corev1.StreamType): {kind}})
		require.NoError(t, err)
	}
	<-w.begun
	require.NoError(t, conn.Close())
	<-w.ended
}

func TestACommandEndsWithTheServer(t *testing.T) {
	t.Parallel()
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWaiting()
			s := serve(t, &fakePod{run: w})
			executor, err := p.executor(s.config(p.scheme), s.url(p.scheme, "/exec/default/web/web", ask(true, "x")))
			require.NoError(t, err)
			typed, _ := io.Pipe() // nothing is typed
			done := make(chan error, 1)
			go func() {
				done <- executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: typed, Stdout: io.Discard, Stderr: io.Discard})
			}()
			<-w.begun
			s.Close()
			select {
			case <-w.ended:
			default:
				assert.Fail(t, "the server does not wait for the command")
			}
			assert.Equal(t, utilexec.CodeExitError{Err: errors.New("command terminated with exit code 137"), Code: 137}, <-done)
			_, _, err = s.run(t, name, "/exec/default/web/web", "", "x")
			assert.Error(t, err, "it is closed")
		})
	}
}

func TestACommandEndsWithItsContainer(t *testing.T) {
	t.Parallel()
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startHollow(t, plain)
			s := serve(t, &fakePod{run: c})
			executor, err := p.executor(s.config(p.scheme), s.url(p.scheme, "/exec/default/web/web", ask(true, "cat")))
			require.NoError(t, err)
			typed, keys := io.Pipe()
			shown, out := io.Pipe()
			done := make(chan error, 1)
			go func() {
				done <- executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: typed, Stdout: out, Stderr: io.Discard})
			}()
			_, err = keys.Write([]byte("x"))
			require.NoError(t, err)
			_, err = shown.Read(make([]byte, 1))
			require.NoError(t, err)
			c.Stop(0)
			assert.Equal(t, utilexec.CodeExitError{Err: errors.New("command terminated with exit code 137"), Code: 137}, <-done)
		})
	}
}
