package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/client"
	"kube2014/pkg/registry"
)

// D21: whatever its kubelet does, a task is answered, within a second the first
// time and at once after that, and the kubelet is not asked again for a while.
func TestD21ABadKubeletCostsAGETASecondOnce(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	t.Cleanup(func() { assert.Zero(t, elsewhere.Load(), "a redirect to another host is not followed") })
	for name, kubelet := range map[string]http.HandlerFunc{
		"hangs": func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
		"drips": func(w http.ResponseWriter, req *http.Request) {
			for {
				select {
				case <-req.Context().Done():
					return
				case <-time.After(50 * time.Millisecond):
					io.WriteString(w, " ")
					w.(http.Flusher).Flush()
				}
			}
		},
		"answers 500":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"answers HTML": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"answers 100 MiB": func(w http.ResponseWriter, _ *http.Request) {
			chunk := strings.Repeat(" ", 1<<20)
			for range 100 {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		},
		"redirects elsewhere": func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, other.URL, http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { asked.Add(1); kubelet(w, req) }))
			t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
			address, err := url.Parse(server.URL)
			require.NoError(t, err)
			port, err := strconv.Atoi(address.Port())
			require.NoError(t, err)
			stores := memoryRegistries()
			require.NoError(t, stores.tasks.CreateTask("127.0.0.1", makeTask("web", 80)))
			handler := newHandler(stores, &client.HTTPContainerInfo{Client: kubeletClient(), Port: uint(port)},
				registry.MakeFirstFitScheduler(nil, stores.tasks), client.DefaultPrefix)

			start := time.Now()
			for range 20 {
				status, text := serveOne(handler, "GET", client.DefaultPrefix+"/tasks/web", "")
				assert.Equal(t, http.StatusOK, status)
				assert.Contains(t, text, `"host": "127.0.0.1"`)
				assert.NotContains(t, text, "info")
			}
			assert.Less(t, time.Since(start), 2*time.Second, "once a second, then nothing")
			assert.EqualValues(t, 1, asked.Load())
		})
	}
}

// The largest answers that are taken, and one without end, take less than 1 MiB.
// It measures the process: not parallel.
func TestD35AKubeletsAnswerTakesLittleMemory(t *testing.T) {
	for name, answer := range map[string]string{
		"without end":     strings.Repeat(" ", 100<<20),
		"many values":     "[" + strings.Repeat(`{"a":1},`, 1300) + "1]",
		"a large text":    `"` + strings.Repeat("x", 127<<10) + `"`,
		"a real one":      `{"ID": "abc", "State": {"Running": true, "Pid": 4711}, "Config": {"Env": ["A=b", "C=d"]}}`,
		"too many by far": "[" + strings.Repeat("1,", 60_000) + "1]",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, answer)
		}))
		address, err := url.Parse(server.URL)
		require.NoError(t, err)
		port, err := strconv.Atoi(address.Port())
		require.NoError(t, err)
		info := &client.HTTPContainerInfo{Client: kubeletClient(), Port: uint(port)}
		_, before := watermark()
		got, err := info.GetContainerInfo("127.0.0.1", "x")
		_, after := watermark()
		assert.Equal(t, name == "without end" || name == "too many by far", err != nil, "%s: %v", name, err)
		assert.Less(t, int64(after)-int64(before), int64(1<<20), name)
		runtime.KeepAlive(got)
		server.Close()
	}
}
