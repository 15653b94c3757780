package main

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/rest"
)

// runtimeConfigs are flags, and which doors they leave open.
var runtimeConfigs = map[string]struct {
	flags         []string
	first, second bool
}{
	"without the flag":                 {nil, true, true},
	"both versions are turned on":      {[]string{"-runtime_config", "api/v1=true,api/v1beta1=true"}, true, true},
	"v1 is turned off":                 {[]string{"-runtime_config", "api/v1=false"}, true, false},
	"v1beta1 is turned off":            {[]string{"-runtime_config=api/v1beta1=0"}, false, true},
	"both are turned off":              {[]string{"-runtime_config", "api/v1=f", "-runtime_config", "api/v1beta1=false"}, false, false},
	"the last value of a version wins": {[]string{"-runtime_config", "api/v1=false,api/v1beta1=false", "-runtime_config", "api/v1=true"}, false, true},
}

func TestAVersionThatIsTurnedOffIsNotServed(t *testing.T) {
	t.Parallel()
	served := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}
	for name, row := range runtimeConfigs {
		for _, traced := range [][]string{nil, {"-trace"}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d := openDoors(t, append(traced, row.flags...)...)
				for _, path := range []string{"tasks", "services", "replicationControllers"} {
					d.send(served[row.first], "GET", "/api/v1beta1/"+path, "")
				}
				for _, path := range []string{"/api", "/apis", "/api/v1", todaysPods, "/api/v1/nodes", "/version", "/livez", "/openapi/v3",
					"/apis/discovery.k8s.io/v1/endpointslices"} {
					d.send(served[row.second], "GET", path, "")
				}
				assert.Equal(t, "ok", d.send(http.StatusOK, "GET", "/healthz", ""))
				assert.Equal(t, "<html><body>Welcome to Kubernetes</body></html>", d.send(http.StatusOK, "GET", "/", ""))
				assert.Equal(t, row.second, d.Loops.PlacePending != nil, "there can be waiting pods")
				assert.Equal(t, row.second, d.Loops.Register != nil, "there can be nodes")
			})
		}
	}
}

func TestWhatIsNotAResourceIsReadWithOrWithoutASlash(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	for _, path := range []string{"/api", "/api/", "/apis", "/apis/", "/api/v1", "/api/v1/", "/apis/discovery.k8s.io", "/apis/discovery.k8s.io/", "/apis/discovery.k8s.io/v1/",
		"/version", "/version/", "/openapi/v3", "/livez"} {
		d.send(http.StatusOK, "GET", path, "")
		d.send(http.StatusOK, "HEAD", path, "")
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			d.send(http.StatusMethodNotAllowed, method, path, "")
		}
	}
}

// Those who run today's metrics-server register it for the version.
func TestMetricsAreServedIfTheyAreTurnedOn(t *testing.T) {
	t.Parallel()
	const nodes = "/apis/metrics.k8s.io/v1beta1/nodes"
	for _, flags := range [][]string{nil, {"-runtime_config", "metrics.k8s.io/v1beta1=false"}} {
		assert.NotContains(t, openDoors(t, flags...).send(http.StatusOK, "GET", "/apis", ""), "metrics.k8s.io")
	}
	openDoors(t, "-runtime_config", "metrics.k8s.io/v1beta1=true,api/v1=false").send(http.StatusNotFound, "GET", nodes, "")
	d := openDoors(t, "-runtime_config", "metrics.k8s.io/v1beta1=true")
	assert.Contains(t, d.send(http.StatusOK, "GET", nodes, ""), `"items":[]`, "there are no kubelets")
	assert.Contains(t, d.send(http.StatusOK, "GET", "/apis", ""), `"metrics.k8s.io/v1beta1"`)
	assert.Contains(t, d.send(http.StatusOK, "GET", "/openapi/v3/apis/metrics.k8s.io/v1beta1", ""), `"io.k8s.metrics.pkg.apis.metrics.v1beta1.NodeMetrics"`)
}

// Who asks at a door that is closed gets the error of the one that is open.
func TestTheDoorThatIsOpenAnswersForTheOther(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "Not Found: GET /api/v1/pods", openDoors(t, "-runtime_config", "api/v1=false").send(http.StatusNotFound, "GET", "/api/v1/pods", ""))
	status := fromYAML[metav1.Status](t, openDoors(t, "-runtime_config", "api/v1beta1=false").send(http.StatusNotFound, "GET", "/api/v1beta1/tasks", ""))
	assert.Equal(t, metav1.StatusReasonNotFound, status.Reason)
	assert.EqualValues(t, http.StatusNotFound, status.Code)
}

func TestAnEtcdThatIsAwayIsToldAtTheSecondDoor(t *testing.T) {
	onBackends(t, anEtcdThatIsAwayIsTold)
}

func anEtcdThatIsAwayIsTold(t *testing.T, b backend) {
	server := b.startOne(t)
	_, log, address := unhurriedProgram(t, append(b.flags(server.URL), unwatched...)...)
	get := func(path string) (int, string) { return getText(t, "http://"+address+path) }
	eventually(t, func() bool { status, _ := get("/readyz"); return status == http.StatusOK }, "its hooks have ended")
	for _, name := range []string{"healthz", "livez", "readyz"} {
		status, text := get("/" + name + "?verbose")
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, "[+]ping ok\n[+]etcd ok\n"+name+" check passed\n", text)
		log.find(`GET /` + name + `\?verbose 200 `)
	}
	require.NoError(t, server.Kill())
	for _, name := range []string{"healthz", "livez", "readyz"} {
		status, text := get("/" + name + "?verbose")
		assert.Equal(t, http.StatusInternalServerError, status)
		assert.Equal(t, "[+]ping ok\n[-]etcd failed: reason withheld\n"+name+" check failed\n", text)
		log.find(name + " check etcd failed: health check: the store cannot be reached: ")
		log.find(`GET /` + name + `\?verbose 500 `)
	}
	for path, want := range map[string]int{"/livez/etcd": 500, "/livez/ping": 200, "/readyz?exclude=etcd": 200, "/healthz?exclude=etcd": 200} {
		status, _ := get(path)
		assert.Equal(t, want, status, path)
	}
	_, text := get("/readyz?verbose&exclude=etcd&exclude=other&exclude=b")
	assert.Equal(t, "[+]ping ok\n[+]etcd excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"b\",\"other\"\nreadyz check passed\n", text)
	status, text := get("/livez")
	assert.Equal(t, http.StatusInternalServerError, status)
	assert.Contains(t, text, "[-]etcd failed: reason withheld")
	status, text = get(todaysPods)
	assert.Equal(t, http.StatusServiceUnavailable, status)
	unavailable := fromYAML[metav1.Status](t, text)
	assert.Equal(t, metav1.StatusReasonServiceUnavailable, unavailable.Reason)
	assert.NotContains(t, text, "127.0.0.1", "the address of etcd is only logged")
	assert.Contains(t, text, `"message":"list tasks: the store cannot be reached"`)
	log.find("GET " + todaysPods + ": the server is currently unable to handle the request: .*127.0.0.1")
	log.find("GET " + todaysPods + " 503 ")

	require.NoError(t, server.Restart())
	require.NoError(t, server.Ready())
	eventually(t, func() bool { status, text = get("/readyz"); return status == http.StatusOK }, "it is ready again")
	assert.Equal(t, "ok", text)
}

// Each request at the second door has its line in the log, and nothing of its body.
// It replaces the process's log, so it is not parallel.
func TestRequestsAtTheSecondDoorAreLogged(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	d := openDoors(t)
	for _, row := range []struct {
		status       int
		method, path string
		body, line   string
	}{
		{http.StatusCreated, "POST", todaysPods + "?dryRun=All", `{"metadata": {"name": "secret"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}`, "POST " + todaysPods + `\?dryRun=All 201 `},
		{http.StatusBadRequest, "POST", todaysPods, `secret`, "POST " + todaysPods + " 400 "},
		{http.StatusNotFound, "GET", todaysPods + "/a%0Ab", "", "GET " + todaysPods + "/a%0Ab 404 "},
		{http.StatusNotFound, "PROPFIND", "/api/v1/nothings", "", "PROPFIND /api/v1/nothings 404 "},
	} {
		logged.Reset()
		d.send(row.status, row.method, row.path, row.body)
		assert.Regexp(t, `^[0-9/]+ [0-9:]+ `+row.line+"[^\n]*\n$", logged.String())
		if row.body != "" {
			assert.NotContains(t, logged.String(), "secret")
		}
	}
}

// broken is a storage that panics.
type broken struct{}

func (broken) Get(context.Context, rest.Key) (rest.Answer, error) { panic("a toy broke") }

// It replaces the process's log, so it is not parallel.
func TestAPanicAtTheSecondDoorIsAnsweredAndLogged(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	d := openDoors(t)
	const path = "/apis/example.com/v1/toys/p" // no request makes the real handlers panic
	d.Extensions.Install(rest.Resource{GroupVersion: schema.GroupVersion{Group: "example.com", Version: "v1"}, Name: "toys", Storage: broken{}})
	text := d.send(http.StatusInternalServerError, "GET", path, "")
	assert.Contains(t, text, `"kind":"Status"`)
	assert.Contains(t, text, "Internal error occurred: the request failed; the server's log has the reason")
	assert.Contains(t, logged.String(), "panic in GET "+path+": a toy broke")
	assert.Contains(t, logged.String(), "GET "+path+" 500 ")
	d.send(http.StatusOK, "GET", "/version", "")
	d.send(http.StatusOK, "GET", "/api/v1beta1/tasks", "")
}

// D32: what is answered is a Status there.
func TestD32APageOfAnotherSiteIsToldInAStatusAtTheSecondDoor(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	req := httptest.NewRequest(http.MethodPost, todaysPods, strings.NewReader("{}"))
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	answer := httptest.NewRecorder()
	d.handler.ServeHTTP(answer, req)
	assert.Equal(t, http.StatusForbidden, answer.Code)
	assert.JSONEq(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Forbidden","code":403,
		"message":"a browser may not send a cross-site POST request"}`, answer.Body.String())
}

func getText(t *testing.T, url string) (int, string) {
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, text.String()
}
