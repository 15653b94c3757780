package aggregation_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/compare/serverstest"
)

const (
	good, bad = 7, 3        // servers behind ours
	enough    = time.Second // for an answer of discovery; one that waited for a bad server would take five
)

func TestDiscoveryDoesNotWaitForServersThatHang(t *testing.T) {
	onlyIfAsked(t)
	f := newFleet(t, 1)
	s := f.ours[0]
	alone := slowest(t, s)
	for i := range good {
		f.addNeighbour(t, fmt.Sprintf("good%d", i), lists)
	}
	mute, err := net.Listen("tcp", "127.0.0.1:0") // connections wait, and nobody speaks TLS
	require.NoError(t, err)
	t.Cleanup(func() { _ = mute.Close() })
	f.addService(t, "default", "bad0", "bad0.example.com", "v1", mute.Addr().String())
	var hang atomic.Bool
	for i, begin := range []string{"", `{"kind": `} {
		f.addNeighbour(t, fmt.Sprintf("bad%d", i+1), func(w http.ResponseWriter, req *http.Request) {
			if !hang.Load() {
				lists(w, req)
			} else if _, err := w.Write([]byte(begin)); err == nil {
				_ = http.NewResponseController(w).Flush()
				<-req.Context().Done()
			}
		})
	}
	serverstest.Eventually(t, "all but one serve", func() bool { return s.current(t) == good+bad-1 && s.failed(t) == 1 })
	served := slowest(t, s)

	hang.Store(true) // while the conditions say that they are available
	s.stop()
	begin := time.Now()
	s.start(t)
	serverstest.Eventually(t, "the server answers", func() bool {
		_, err := s.Try(serverstest.Request{Method: http.MethodGet, Path: "/livez"})
		return err == nil
	})
	started, ready := time.Since(begin), time.Duration(0)
	first := slowest(t, s)
	serverstest.Eventually(t, "the server knows again who is there", func() bool {
		first = max(first, slowest(t, s))
		if ready == 0 && s.Finds("/readyz") {
			ready = time.Since(begin)
		}
		return ready > 0 && s.current(t) == good
	})
	t.Logf("after a start: answers %v, is ready %v, knows the resources of %d other servers %v", started, ready, good, time.Since(begin))
	for _, path := range []string{"/openapi/v2", "/openapi/v3"} {
		asked := time.Now()
		assert.True(t, s.Finds(path))
		t.Logf("%s takes %v", path, time.Since(asked))
	}
	serverstest.Eventually(t, "the server knows who hangs", func() bool {
		first = max(first, slowest(t, s))
		return s.failed(t) == bad
	})
	t.Logf("the slowest answer of discovery: %v alone, %v with %d servers behind it, %v after a start while %d of them hang", alone, served, good+bad, first, bad)
	assert.Less(t, max(served, first), enough)
}

// lists answers as a server of the version v1 of any group, that has one resource and no document of all groups.
func lists(w http.ResponseWriter, req *http.Request) {
	if version := strings.TrimPrefix(req.URL.Path, "/apis/"); strings.HasSuffix(version, "/v1") {
		_, _ = fmt.Fprintf(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": %q, "resources": [{"name": "things", "kind": "Thing", "verbs": ["list"]}]}`, version)
		return
	}
	http.NotFound(w, req)
}

// addNeighbour lets a handler serve a group.
func (f *fleet) addNeighbour(t *testing.T, name string, handler http.HandlerFunc) {
	neighbour := httptest.NewUnstartedServer(handler)
	neighbour.TLS = &tls.Config{Certificates: []tls.Certificate{f.ca.Server(t, name+".default.svc").Certificate}}
	neighbour.EnableHTTP2 = true
	neighbour.StartTLS()
	t.Cleanup(func() {
		neighbour.CloseClientConnections()
		neighbour.Close()
	})
	f.addService(t, "default", name, name+".example.com", "v1", neighbour.Listener.Addr().String())
}

// slowest returns how long the slowest of some requests for discovery takes: the documents of all groups, and that of a group whose server hangs.
func slowest(t *testing.T, s *server) (longest time.Duration) {
	for range 10 {
		for _, r := range []serverstest.Request{{Path: "/apis", Accept: asOneList}, {Path: "/apis"}, {Path: "/api"}, {Path: "/apis/bad0.example.com"}} {
			r.Method = http.MethodGet
			begin := time.Now()
			s.Do(t, r)
			longest = max(longest, time.Since(begin))
		}
	}
	return longest
}

// current returns how many of the neighbours' versions are fresh in discovery.
func (s *server) current(t *testing.T) (n int) {
	for group, is := range freshness(t, s) {
		if is == "Current" && strings.HasSuffix(group, ".example.com") {
			n++
		}
	}
	return n
}

// failed returns how many APIServices have failed.
func (s *server) failed(t *testing.T) (n int) {
	var list struct {
		Items []struct {
			Status struct{ Conditions []condition }
		}
	}
	require.NoError(t, json.Unmarshal(s.Do(t, serverstest.Request{Method: http.MethodGet, Path: atServices}).Body, &list))
	for _, item := range list.Items {
		for _, c := range item.Status.Conditions {
			if c.Reason == "FailedDiscoveryCheck" {
				n++
			}
		}
	}
	return n
}
