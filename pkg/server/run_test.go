package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/server"
	"kube2014/pkg/server/healthz"
	"kube2014/pkg/util/certtest"
	"kube2014/pkg/util/loopback"
)

// paths is a mux.
type paths map[string]http.Handler

func (p paths) Handle(path string, handler http.Handler)         { p[path] = handler }
func (p paths) HandlePrefix(prefix string, handler http.Handler) { p[prefix] = handler }

func (p paths) get(path string) (int, string) {
	answer := ask(p[path], "GET", path+"?verbose")
	return answer.Code, answer.Body.String()
}

// running is a server in a synctest bubble.
type running struct {
	*server.Server
	*server.Delegate
	paths   paths
	network *loopback.Listener
	stop    context.CancelFunc
	ended   chan error
}

// makeServer returns a server that does not run yet.
func makeServer(t *testing.T, a toys, config server.Config) *running {
	r := &running{paths: paths{}, network: loopback.Listen(), ended: make(chan error, 1)}
	r.Delegate = &server.Delegate{Server: a, Checks: []healthz.Check{healthz.Ping}}
	config.Chain, config.Mux = r.Delegate, r.paths
	if config.Secure == nil {
		config.Insecure = &server.Serving{Address: "127.0.0.1:8080"}
	}
	config.Listen = func(_, address string) (net.Listener, error) {
		assert.Equal(t, "127.0.0.1:8080", address)
		return r.network, nil
	}
	config.RequestTimeout, config.ReadTimeout, config.WriteTimeout, config.DrainTimeout = time.Minute, 10*time.Second, 10*time.Second, 10*time.Second
	r.Server = config.Complete().New()
	return r
}

func (r *running) start(t *testing.T) {
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() { r.ended <- r.PrepareRun().Run(ctx) }()
	synctest.Wait()
}

// connection is one of a client.
type connection struct {
	t *testing.T
	net.Conn
	reader *bufio.Reader
}

func (r *running) dial(t *testing.T) *connection {
	conn, err := r.network.Dial(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &connection{t, conn, bufio.NewReader(conn)}
}

func (c *connection) send(method, path string) {
	_, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\n\r\n", method, path)
	require.NoError(c.t, err)
}

func (c *connection) answer() (int, string) {
	resp, err := http.ReadResponse(c.reader, nil)
	require.NoError(c.t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return resp.StatusCode, string(body)
}

func TestReadyzWaitsForTheHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := makeServer(t, bear, server.Config{})
		first, second := make(chan error), make(chan error)
		r.AddPostStartHook("first", func(context.Context) error { return <-first })
		r.AddPostStartHook("second", func(context.Context) error { return <-second })
		r.start(t)
		status, text := r.paths.get("/readyz")
		assert.Equal(t, 500, status)
		assert.Equal(t, "[+]ping ok\n[-]poststarthook/first failed: reason withheld\n[-]poststarthook/second failed: reason withheld\nreadyz check failed\n", text)
		for _, path := range []string{"/livez", "/healthz"} {
			status, text := r.paths.get(path)
			assert.Equal(t, 200, status)
			assert.Equal(t, "[+]ping ok\n"+path[1:]+" check passed\n", text)
		}
		close(first)
		synctest.Wait()
		select {
		case <-r.Started():
			t.Error("one hook has not ended")
		default:
		}
		status, text = r.paths.get("/readyz")
		assert.Equal(t, 500, status)
		assert.NotContains(t, text, "first", "a hook is a check until it is done")
		status, _ = r.paths.get("/readyz/poststarthook/first")
		assert.Equal(t, 200, status)
		status, _ = r.paths.get("/readyz/poststarthook/second")
		assert.Equal(t, 500, status)
		second <- errors.New("the hook is broken")
		<-r.Started()
		status, _ = r.paths.get("/readyz")
		assert.Equal(t, 500, status, "a hook that fails is not done")
		r.stop()
		assert.NoError(t, <-r.ended)
	})
}

func TestHooksAndLoopsEndWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := makeServer(t, bear, server.Config{})
		ended := make(chan struct{})
		r.AddPostStartHook("forever", func(ctx context.Context) error {
			<-ctx.Done()
			close(ended)
			return ctx.Err()
		})
		assert.Panics(t, func() { r.AddPostStartHook("forever", nil) }, "a name is used once")
		looped := make(chan struct{})
		r.AddLoop(func(ctx context.Context) {
			<-ctx.Done()
			close(looped)
		})
		r.start(t)
		r.stop()
		assert.NoError(t, <-r.ended)
		<-ended
		<-looped
	})
}

// Who sends requests here has time to notice.
func TestReadyzFailsForAWhileBeforeThePortsAreClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := makeServer(t, bear, server.Config{ShutdownDelay: 5 * time.Second})
		var told time.Time
		r.AddPreShutdownHook("tell", func() error {
			told = time.Now()
			r.dial(t) // the port is open still
			return errors.New("it is only logged")
		})
		r.start(t)
		status, _ := r.paths.get("/readyz")
		assert.Equal(t, 200, status)
		begun := time.Now()
		r.stop()
		synctest.Wait()
		status, text := r.paths.get("/readyz")
		assert.Equal(t, 500, status)
		assert.Contains(t, text, "[-]shutdown failed")
		status, _ = r.paths.get("/livez")
		assert.Equal(t, 200, status)
		c := r.dial(t)
		c.send("GET", "/bear")
		status, _ = c.answer()
		assert.Equal(t, 200, status, "requests are served meanwhile")
		assert.NoError(t, <-r.ended)
		assert.Equal(t, 5*time.Second, told.Sub(begun))
		_, err := r.network.Dial(context.Background())
		assert.ErrorIs(t, err, net.ErrClosed)
	})
}

// What is in flight is finished; what comes meanwhile on its connections is not begun.
func TestNoRequestBeginsOnceTheServerIsEnding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		r := makeServer(t, toys{"/toy": func(http.ResponseWriter, *http.Request) { <-released }}, server.Config{})
		r.start(t)
		c := r.dial(t)
		c.send("POST", "/toy")
		synctest.Wait()
		r.stop()
		synctest.Wait()
		answer := ask(r.InsecureHandler(), "GET", "/toy")
		assert.Equal(t, http.StatusServiceUnavailable, answer.Code)
		assert.Equal(t, "the server is shutting down", answer.Body.String())
		assert.Equal(t, "1", answer.Header().Get("Retry-After"))
		close(released)
		status, _ := c.answer()
		assert.Equal(t, 200, status)
		assert.NoError(t, <-r.ended)
		assert.Equal(t, http.StatusServiceUnavailable, ask(r.InsecureHandler(), "GET", "/toy").Code)
	})
}

func TestAPortThatCannotBeOpenedIsAnErrorAndClosesTheOther(t *testing.T) {
	t.Parallel()
	network := loopback.Listen()
	config := server.Config{Chain: &server.Delegate{Server: bear}, Insecure: &server.Serving{Address: "one"}, Secure: &server.Serving{Address: "two"}}
	config.Listen = func(_, address string) (net.Listener, error) {
		if address == "two" {
			return nil, errors.New("it is taken")
		}
		return network, nil
	}
	err := config.Complete().New().PrepareRun().Run(t.Context())
	var failed *server.ListenError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, "cannot listen on two: it is taken", err.Error())
	_, err = network.Dial(context.Background())
	assert.ErrorIs(t, err, net.ErrClosed)
}

func TestAbortEndsTheServerAtOnce(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(r *running){
		"while it runs":           func(*running) {},
		"while it delays its end": func(r *running) { r.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, start := makeServer(t, bear, server.Config{ShutdownDelay: time.Hour}), time.Now()
				r.start(t)
				begin(r)
				synctest.Wait()
				r.Abort()
				r.Abort()
				assert.ErrorIs(t, <-r.ended, server.ErrAborted)
				assert.Equal(t, start, time.Now())
			})
		})
	}
}

func TestAbortDoesNotWaitForAHook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, released := makeServer(t, bear, server.Config{}), make(chan struct{})
		r.AddPreShutdownHook("hang", func() error {
			<-released
			return nil
		})
		r.start(t)
		r.stop()
		synctest.Wait()
		r.Abort()
		assert.ErrorIs(t, <-r.ended, server.ErrAborted)
		close(released)
	})
}

func TestTheEndWaitsForNoConnectionOnWhichNothingWasSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := makeServer(t, bear, server.Config{})
		r.start(t)
		asked, silent := r.dial(t), r.dial(t)
		asked.send("GET", "/toy")
		_, _ = asked.answer()
		synctest.Wait()
		began := time.Now()
		r.stop()
		require.NoError(t, <-r.ended)
		assert.Less(t, time.Since(began), time.Second)
		_, err := silent.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF)
	})
}

// http.Server.Shutdown would wait a second for each.
func TestTheEndWaitsForNoIdleConnectionOfHTTP2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		authority := certtest.Authority(t, "authority")
		secure := &server.Serving{Address: "127.0.0.1:8080", TLS: &tls.Config{Certificates: []tls.Certificate{authority.Server(t, "loopback").Certificate}}}
		b := newBusy()
		r := makeServer(t, b.toys, server.Config{Secure: secure})
		r.Delegate.Server = b
		r.start(t)
		newClient := func() *http.Client {
			return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}, DialContext: r.network.DialContext}}
		}
		get := func(client *http.Client, path string) string {
			resp, err := client.Get("https://loopback" + path)
			if !assert.NoError(t, err) {
				return ""
			}
			defer resp.Body.Close()
			assert.Equal(t, 2, resp.ProtoMajor)
			text, err := io.ReadAll(resp.Body)
			assert.NoError(t, err)
			return resp.Status + " " + string(text)
		}
		idle, waiting, answered := newClient(), newClient(), make(chan string, 1)
		get(idle, "/quick")
		go func() { answered <- get(waiting, "/slow") }()
		synctest.Wait()
		began := time.Now()
		r.stop()
		synctest.Wait()
		assert.Empty(t, r.ended, "a request is in flight")
		close(b.release)
		assert.Contains(t, <-answered, "200 OK")
		require.NoError(t, <-r.ended)
		assert.Less(t, time.Since(began), time.Second)
	})
}

// A request may wait for what a part does.
func TestThePartsOfTheProcessAreServedThoughTooManyOthersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, inside := newBusy(), loopback.Listen()
		r := makeServer(t, b.toys, server.Config{MaxReads: 1, MaxChanges: 1, Loopback: inside})
		r.Delegate.Server = b
		r.start(t)
		wait := b.flood(r.InsecureHandler(), 1, "GET", "/slow")
		assert.Equal(t, http.StatusTooManyRequests, ask(r.InsecureHandler(), "GET", "/quick").Code)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return inside.Dial(ctx) }}}
		resp, err := client.Get("http://loopback/quick")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		close(b.release)
		assert.Equal(t, map[int]int{http.StatusOK: 1}, wait())
		r.stop()
		assert.NoError(t, <-r.ended)
	})
}
