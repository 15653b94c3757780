package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// metricLines returns the lines of /metrics that begin so, without buckets.
func (d *doors) metricLines(begin string) (lines []string) {
	d.t.Helper()
	for line := range strings.Lines(d.send(http.StatusOK, "GET", "/metrics", "")) {
		if strings.HasPrefix(line, begin) && !strings.Contains(line, "_bucket{") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func requestLine(code, resource, scope, verb, version, number string) string {
	return `apiserver_request_total{code="` + code + `",component="apiserver",dry_run="",group="",resource="` + resource + `",scope="` + scope + `",subresource="",verb="` + verb +
		`",version="` + version + `"} ` + number
}

func TestBothDoorsCountTheirRequests(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	d.createTask("a", 80)
	d.task("a")
	d.createPod(podNamed("b"))
	d.pod("b")
	d.pod("b")
	d.podNames()
	d.send(http.StatusNotFound, "GET", "/api/v1/nosuch", "")
	d.send(http.StatusNotFound, "GET", "/api/v1beta1/nosuch", "")
	d.send(http.StatusOK, "GET", "/healthz", "")
	const path = `apiserver_request_total{code="200",component="",dry_run="",group="",resource="",scope="",subresource="/healthz",verb="GET",version=""} 1`
	assert.ElementsMatch(t, []string{
		requestLine("200", "pods", "resource", "POST", "v1beta1", "1"), requestLine("200", "pods", "resource", "GET", "v1beta1", "1"),
		requestLine("201", "pods", "resource", "POST", "v1", "1"), requestLine("200", "pods", "resource", "GET", "v1", "2"),
		requestLine("200", "pods", "namespace", "LIST", "v1", "1"), requestLine("404", "other", "cluster", "LIST", "", "1"), path,
		strings.NewReplacer("200", "404", "/healthz", "/api").Replace(path),
	}, d.metricLines("apiserver_request_total"))
	assert.Contains(t, d.metricLines("apiserver_resource_objects"), `apiserver_resource_objects{group="",resource="pods"} 2`)
}

func TestEachResourceThatIsServedHasItsName(t *testing.T) {
	t.Parallel()
	d := openDoors(t, "-authorization_mode", "RBAC", "-secure_port", "0", "-cert_dir", t.TempDir())
	for _, path := range []string{"/api/v1/pods", "/api/v1/nodes/x", "/api/v1/namespaces/default/pods/x/status", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "/api/v1beta1/replicationControllers", "/api/v1beta1/services/x"} {
		d.do("GET", path, "", "")
	}
	lines := strings.Join(d.metricLines("apiserver_request_total"), "\n")
	assert.Equal(t, 7, strings.Count(lines, "\n")+1)
	assert.NotContains(t, lines, "other")
}

func TestCallsToEtcdAreCounted(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, flags []string) {
		d := openDoors(t, flags...)
		d.createPod(podNamed("a"))
		d.pod("a")
		d.send(http.StatusOK, "DELETE", todaysPods+"/a?gracePeriodSeconds=0", "")
		all := strings.Join(d.metricLines("etcd_request"), "\n")
		assert.Contains(t, all, `etcd_requests_total{group="",operation="create",resource="pods"} `)
		assert.Contains(t, all, `etcd_requests_total{group="",operation="delete",resource="pods"} `)
		assert.Contains(t, all, `etcd_request_duration_seconds_count{group="",operation="create",resource="pods"} `)
		assert.NotContains(t, all, "etcd_request_errors_total")
		assert.NotEmpty(t, d.metricLines("apiserver_watch_cache_resource_version"))
	})
}

// K67.
func TestABusyServerSaysSoInTheWordsOfEachDoor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, "-max_mutating_requests_inflight", "1", "-max_requests_inflight", "1", "-request_timeout", "1h")
		body, rest := io.Pipe()
		slow := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			req := httptest.NewRequest("POST", todaysPods, body)
			req.Header.Set("Content-Type", "application/json")
			d.handler.ServeHTTP(slow, req)
		}()
		synctest.Wait()
		second := d.send(http.StatusTooManyRequests, "POST", todaysPods, encodeAll(t, podNamed("b")))
		assert.JSONEq(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Too many requests, please try again later.",
			"reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}`, second)
		first := httptest.NewRecorder()
		d.handler.ServeHTTP(first, httptest.NewRequest("DELETE", taskPath("a"), nil))
		assert.Equal(t, http.StatusTooManyRequests, first.Code)
		assert.Equal(t, "1", first.Header().Get("Retry-After"))
		assert.Equal(t, "Too Many Requests: Too many requests, please try again later.", first.Body.String())
		d.podNames()
		d.send(http.StatusOK, "GET", "/livez", "")
		_, err := io.WriteString(rest, encodeAll(t, podNamed("a")))
		require.NoError(t, err)
		require.NoError(t, rest.Close())
		<-done
		assert.Equal(t, http.StatusCreated, slow.Code)
		d.createPod(podNamed("b"))
	})
}

func TestAWatchOfABusyServerGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, "-max_requests_inflight", "1", "-request_timeout", "1h")
		watched := httptest.NewRecorder()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d.handler.ServeHTTP(watched, httptest.NewRequest("GET", todaysPods+"?watch=1&timeoutSeconds=60", nil))
		}()
		synctest.Wait()
		d.createPod(podNamed("a"))
		d.podNames()
		<-ended
		assert.Equal(t, 1, strings.Count(watched.Body.String(), `"type":"ADDED"`))
		assert.Equal(t, []string{`apiserver_watch_events_total{group="",resource="pods",version="v1"} 1`}, d.metricLines("apiserver_watch_events_total"))
		size := d.metricLines("apiserver_watch_events_sizes_sum")
		require.Len(t, size, 1)
		assert.Regexp(t, ` \d+$`, size[0])
		assert.Contains(t, d.metricLines("apiserver_request_duration_seconds_sum"),
			`apiserver_request_duration_seconds_sum{component="apiserver",dry_run="",group="",resource="pods",scope="namespace",subresource="",verb="WATCH",version="v1"} 60`)
	})
}

func TestTheSyncOfEndpointsIsMeasured(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	require.NoError(t, d.Loops.SyncEndpoints())
	assert.Contains(t, d.metricLines("kube2014_endpoints_sync"), "kube2014_endpoints_sync_duration_seconds_count 1")
	assert.Contains(t, d.metricLines("kube2014_endpoints_sync"), "kube2014_endpoints_sync_errors_total 0")
}

func TestTheMetricsOfATracedServerAreTheSame(t *testing.T) {
	t.Parallel()
	d := openDoors(t, "-trace")
	d.createPod(podNamed("a"))
	assert.Equal(t, []string{requestLine("201", "pods", "resource", "POST", "v1", "1")}, d.metricLines("apiserver_request_total"))
}

// To read what is measured takes the right to the path, like any other.
func TestMetricsAreForWhoMayReadThem(t *testing.T) {
	t.Parallel()
	d := openDoors(t, "-secure_port", "0", "-cert_dir", t.TempDir(), "-authorization_mode", "AlwaysDeny")
	req := httptest.NewRequest("GET", "/metrics", nil)
	recorder := httptest.NewRecorder()
	d.Server.SecureHandler().ServeHTTP(recorder, req)
	assert.Equal(t, http.StatusForbidden, recorder.Code)
	assert.Equal(t, []string{`authorization_attempts_total{result="no-opinion"} 1`}, d.metricLines("authorization_attempts_total"))
	assert.Equal(t, []string{`authentication_attempts{result="success"} 1`}, d.metricLines("authentication_attempts"), "the anonymous user is one")
}
