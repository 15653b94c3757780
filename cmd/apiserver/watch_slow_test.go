package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/storage"
	"kube2014/pkg/util/loopback"
)

// onPipes is a server in a synctest bubble, with the timeouts that users have.
type onPipes struct {
	*doors
	network *loopback.Listener
	client  *http.Client
	signals chan os.Signal
	exit    chan int
}

func serveOnPipes(t *testing.T) *onPipes {
	p := &onPipes{openDoors(t), loopback.Listen(), nil, make(chan os.Signal, 1), make(chan int, 1)}
	transport := &http.Transport{DialContext: p.network.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	p.client = &http.Client{Transport: transport}
	s := serverOf(p.handler, p.network, p.Today.EndWatches)
	go func() { p.exit <- exitOf(s, p.signals) }()
	return p
}

func (p *onPipes) watch(query string) *watcher {
	return openWatch(p.t, p.client, "http://x"+todaysServices+"?watch=1&"+query)
}

// watchUnread begins a watch, and reads no more than the head of the answer.
func (p *onPipes) watchUnread() *watcher {
	conn, err := p.network.Dial(context.Background())
	require.NoError(p.t, err)
	p.t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintf(conn, "GET %s?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n", todaysServices)
	require.NoError(p.t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, resp.StatusCode)
	return &watcher{p.t, resp.Body, bufio.NewReader(resp.Body)}
}

// write writes one service so many times.
func (p *onPipes) write(times int) {
	for i := range times {
		_, err := p.Stores.Objects.Commit(storage.Update(&api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 1 + i%1000}, storage.Any))
		require.NoError(p.t, err)
	}
}

// tellTo requires that services that are created one by one are told to all watchers.
func (p *onPipes) tellTo(watchers []*watcher, names ...string) {
	for _, name := range names {
		resp, err := p.client.Post("http://x"+todaysServices, "application/json",
			strings.NewReader(fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[{"port":80}]}}`, name)))
		require.NoError(p.t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(p.t, err)
		resp.Body.Close()
		require.Equal(p.t, http.StatusCreated, resp.StatusCode, "%s", text)
		for _, w := range watchers {
			w.tells("ADDED " + name)
		}
	}
}

func someNames(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, "-", i))
	}
	return names
}

// The clock of a bubble goes on only while everybody waits: if the one that does not read
// held up anybody, time would pass.
func TestAWatcherThatDoesNotReadIsCutOffAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, start := serveOnPipes(t), time.Now()
		watchers := []*watcher{p.watch(""), p.watch(""), p.watch("")}
		unread := p.watchUnread()
		p.tellTo(watchers, someNames("s", 100)...)
		assert.Equal(t, time.Duration(0), time.Since(start))

		time.Sleep(config.RequestTimeout)
		synctest.Wait()
		_, err := unread.until(func(event) bool { return false })
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "it was cut off")
		p.tellTo(watchers, "last")
		p.signals <- syscall.SIGTERM
		for _, w := range watchers {
			w.ends()
		}
		assert.Equal(t, 0, <-p.exit)
	})
}

func TestAWatcherThatDoesNotReadHoldsUpTheEndForASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := serveOnPipes(t)
		reads := p.watch("")
		unread := p.watchUnread()
		p.tellTo([]*watcher{reads}, "s")
		start := time.Now()
		p.signals <- syscall.SIGTERM
		reads.ends()
		assert.Equal(t, time.Duration(0), time.Since(start), "others are ended at once")
		assert.Equal(t, 0, <-p.exit)
		assert.GreaterOrEqual(t, time.Since(start), time.Second)
		assert.Less(t, time.Since(start), 2*time.Second)
		_, err := unread.read()
		assert.Error(t, err)
	})
}

// The ten seconds of other requests do not end it. Its connection is used again.
func TestAWatchThatTellsNothingLastsHalfAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, start := serveOnPipes(t), time.Now()
		lasted := make(chan time.Duration, 2)
		for query, bookmarks := range map[string]int{"timeoutSeconds=60": 0, "allowWatchBookmarks=true": 29} {
			w := p.watch("fieldSelector=metadata.name%3Dnone&resourceVersion=" + fmt.Sprint(p.version()) + "&" + query)
			go func() { // a pipe has no buffer
				told, err := w.until(func(e event) bool { return e.Type != "BOOKMARK" })
				assert.ErrorIs(t, err, io.EOF)
				assert.GreaterOrEqual(t, len(told), bookmarks)
				lasted <- time.Since(start)
			}()
		}
		w := p.watch("")
		for i := range 3 {
			time.Sleep(9 * time.Minute)
			p.tellTo([]*watcher{w}, fmt.Sprint("s-", i))
		}
		w.ends()
		assert.GreaterOrEqual(t, time.Since(start), 30*time.Minute)
		assert.LessOrEqual(t, time.Since(start), time.Hour)
		assert.Equal(t, time.Minute, <-lasted)
		assert.GreaterOrEqual(t, <-lasted, 30*time.Minute)
		p.tellTo(nil, "later")
		p.signals <- os.Interrupt
		assert.Equal(t, 0, <-p.exit)
	})
}

func TestAVersionThatIsForgottenIsRefusedAndAWatcherThatLagsBehindIsTold(t *testing.T) {
	t.Parallel()
	const history = 10_000
	synctest.Test(t, func(t *testing.T) {
		p := serveOnPipes(t)
		p.write(1)
		forgotten := p.version()
		lagging := p.watchUnread()
		p.write(history + 1)

		for _, path := range []string{todaysServices + "?watch=1&", "/api/v1/watch/services?"} {
			resp, err := p.client.Get(fmt.Sprint("http://x", path, "resourceVersion=", forgotten))
			require.NoError(t, err)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, http.StatusGone, resp.StatusCode)
			status := fromYAML[metav1.Status](t, string(text))
			assert.Equal(t, metav1.StatusReasonExpired, status.Reason)
			assert.Equal(t, fmt.Sprintf("too old resource version: %d (%d)", forgotten, forgotten+1), status.Message)
		}
		p.watch(fmt.Sprint("resourceVersion=", forgotten+1)).tells("MODIFIED web")

		told, err := lagging.until(func(e event) bool { return e.Type == "ERROR" })
		require.NoError(t, err)
		last := len(told) - 1
		for i, e := range told[:last] {
			assert.Equal(t, forgotten+uint64(i), e.version(), "nothing is left out before")
		}
		status := fromYAML[metav1.Status](t, string(told[last].Object))
		assert.Equal(t, metav1.StatusReasonExpired, status.Reason)
		assert.EqualValues(t, http.StatusGone, status.Code)
		lagging.ends()
		p.signals <- os.Interrupt
		assert.Equal(t, 0, <-p.exit)
	})
}

// As the first one, on a real network, which has buffers.
func TestAWatcherOnTCPThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	url := d.listen()
	var catalog rest.Catalog
	catalog.Install(core.Resources(core.Config{Objects: d.Stores.Objects, Now: time.Now})...)
	today := endpoints.NewConfig(time.Now)
	today.WriteTimeout = 100 * time.Millisecond
	impatient := chainBefore(endpoints.New(today, &catalog)) // to one client
	ended := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		impatient.ServeHTTP(w, req)
		close(ended)
	}))
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		assert.NoError(t, conn.(*net.TCPConn).SetWriteBuffer(4096)) // less to write until it is full
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(conn, "GET %s?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n", todaysPods)
	require.NoError(t, err)

	const pods = 40
	var reading sync.WaitGroup
	for range 3 {
		w := openWatch(t, patient, url+todaysPods+"?watch=1")
		reading.Go(func() {
			told, err := w.until(func(e event) bool { return e.about.Name == fmt.Sprint("p-", pods-1) })
			assert.NoError(t, err)
			assert.Len(t, told, pods)
		})
	}
	for _, name := range someNames("p", pods) {
		pod := podNamed(name)
		pod.Annotations = map[string]string{"large": strings.Repeat("x", 20<<10)}
		d.createPod(pod)
	}
	reading.Wait()
	select {
	case <-ended:
	case <-time.After(hangs):
		require.FailNow(t, "it was not cut off")
	}
}
