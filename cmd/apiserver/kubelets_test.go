package main

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/client"
	"kube2014/pkg/client/kubeletclient"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/util/loopback"
)

// D21: whatever the kubelet does, the task is answered, within a second the
// first time and at once after that, and the kubelet is not asked again for a
// while.
func TestD21ABadKubeletCostsAGETASecondOnce(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		kubelet http.HandlerFunc
		takes   time.Duration
	}{
		"hangs": {func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, time.Second},
		"drips": {func(w http.ResponseWriter, req *http.Request) {
			for {
				select {
				case <-req.Context().Done():
					return
				case <-time.After(50 * time.Millisecond):
					io.WriteString(w, " ")
					w.(http.Flusher).Flush()
				}
			}
		}, time.Second},
		"answers 500":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, 0},
		"answers HTML": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, 0},
		"answers 100 MiB": {func(w http.ResponseWriter, _ *http.Request) {
			chunk := strings.Repeat(" ", 1<<20)
			for range 100 {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		}, 0},
		"headers without end": {headersWithoutEnd, 0},
		"redirects elsewhere": {func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "http://127.0.0.2:1/", http.StatusFound)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				network := loopback.Listen()
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { asked.Add(1); row.kubelet(w, req) })}
				go func() { _ = server.Serve(network) }()
				reached := options.New().Kubelet
				reached.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
					assert.Equal(t, "127.0.0.1:10250", address, "a redirect to another host is not followed")
					return network.Dial(context.Background())
				}
				info, err := reached.ApplyTo()
				require.NoError(t, err)
				defer info.Client.CloseIdleConnections()
				defer server.Close()
				stores := memoryRegistries()
				require.NoError(t, stores.Tasks.CreateTask("127.0.0.1", makeTask("web", 80)))
				handler := newHandler(stores, info, registry.MakeFirstFitScheduler(nil, stores.Tasks), client.DefaultPrefix)

				start := time.Now()
				for range 20 {
					status, text := serveOne(handler, "GET", client.DefaultPrefix+"/tasks/web", "")
					assert.Equal(t, http.StatusOK, status)
					assert.Contains(t, text, `"host": "127.0.0.1"`)
					assert.NotContains(t, text, "info")
				}
				assert.Equal(t, row.takes, time.Since(start), "once a second, then nothing")
				assert.EqualValues(t, 1, asked.Load())
			})
		})
	}
}

// headersWithoutEnd answers small headers until the connection is closed.
func headersWithoutEnd(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	headers := []byte(strings.Repeat("a:\r\n", 1000))
	for _, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"); err == nil; {
		_, err = conn.Write(headers)
	}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

// redirectsTwice redirects twice within the kubelet and then answers the text,
// each time with almost as many headers as are accepted.
func redirectsTwice(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header()["a"] = make([]string, 1500) // of five bytes each
		switch req.URL.Path {
		case "/containerInfo":
			http.Redirect(w, req, "/second", http.StatusFound)
		case "/second":
			http.Redirect(w, req, "/third", http.StatusFound)
		default:
			io.WriteString(w, text)
		}
	}
}

// counted counts the bytes that are read from a client's connections.
func counted(client *http.Client) (read *atomic.Int64) {
	read = &atomic.Int64{}
	transport := client.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return countedConn{conn, read}, err
	}
	return read
}

type countedConn struct {
	net.Conn
	read *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// Even of an endless answer no more is read than 128 KiB, 8 KiB of headers for
// each redirect and for the answer, and a buffer. All allocations are counted,
// garbage included. It measures the process, so it is not parallel.
func TestD35AKubeletsAnswerTakesLittleMemory(t *testing.T) {
	const headers, text, buffer = 8 << 10, 128 << 10, 4 << 10
	aLargeText := `"` + strings.Repeat("x", 127<<10) + `"`
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		most   int // that is read, without the buffer
		taken  bool
	}{
		"without end":                     {says(strings.Repeat(" ", 100<<20)), headers + text, false},
		"too many by far":                 {says("[" + strings.Repeat("1,", 60_000) + "1]"), headers + text, false},
		"headers without end":             {headersWithoutEnd, headers, false},
		"many values":                     {says("[" + strings.Repeat(`{"a":1},`, 1300) + "1]"), headers + text, true},
		"a large text":                    {says(aLargeText), headers + text, true},
		"many headers, thrice, and large": {redirectsTwice(aLargeText), 3*headers + text, true},
		"a real one":                      {says(`{"ID": "abc", "State": {"Running": true, "Pid": 4711}, "Config": {"Env": ["A=b", "C=d"]}}`), headers + text, true},
	} {
		server := httptest.NewServer(row.answer)
		address, err := url.Parse(server.URL)
		require.NoError(t, err)
		port, err := strconv.Atoi(address.Port())
		require.NoError(t, err)
		least := uint64(math.MaxUint64) // the collector allocates too, now and then
		for range 5 {
			info := &kubeletclient.HTTPContainerInfo{Client: kubelets(t).Client, Port: uint(port), Timeout: hangs}
			read := counted(info.Client)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = info.GetContainerInfo("127.0.0.1", "x")
			runtime.ReadMemStats(&after)
			info.Client.CloseIdleConnections()
			assert.Equal(t, row.taken, err == nil, "%s: %v", name, err)
			assert.LessOrEqual(t, read.Load(), int64(row.most+buffer), name)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		assert.Less(t, least, uint64(3<<20), name)
		server.Close()
	}
}

// kubelets asks kubelets as the program does.
func kubelets(t *testing.T) *kubeletclient.HTTPContainerInfo {
	info, err := options.New().Kubelet.ApplyTo()
	require.NoError(t, err)
	return info
}
