package core_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/core/connect"
	"kube2014/pkg/storage/memory"
)

// asked is a network that answers every request with where and how it was asked.
type asked struct{ by string }

func (a asked) RoundTrip(req *http.Request) (*http.Response, error) {
	status, body := http.StatusOK, a.by+" "+req.Method+" "+req.URL.String()
	if req.Header.Get("Upgrade") != "" {
		status = http.StatusTeapot // without a connection there is no stream
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// reached are kubelets that can be asked.
type reached struct{ connect.Kubelets }

func (reached) At(host string, port uint) (*url.URL, http.RoundTripper) {
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port))), Path: "/"}, asked{"kubelet"}
}

// connecting is a cluster of pods, services and nodes: what is behind them answers with how it was asked.
func connecting(t *testing.T) (ask func(method, path string, headers ...string) (status int, text, location string)) {
	store := memory.New(1)
	server := endpointstest.Handler(endpointstest.NewServer(time.Now, core.Resources(core.Config{Objects: store, Placer: stored{store}, Now: time.Now,
		Kubelets: reached{}, Proxied: asked{"network"}})...))
	send := func(method, path, body string, headers ...string) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), method, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		if method == http.MethodPatch {
			req.Header.Set("Content-Type", "application/merge-patch+json")
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Add(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, req)
		return w
	}
	const all = "/api/v1/namespaces/default/"
	pod := func(name, node, containers, ip string) {
		spec := `{"nodeName":"` + node + `","containers":[` + containers + `]}`
		for _, answer := range []*httptest.ResponseRecorder{
			send("POST", all+"pods", `{"metadata":{"name":"`+name+`"},"spec":`+spec+`}`),
			send("PATCH", all+"pods/"+name+"/status", `{"status":{"podIP":"`+ip+`","podIPs":[{"ip":"`+ip+`"}]}}`),
		} {
			require.Less(t, answer.Code, 300, answer.Body.String())
		}
	}
	const a, ports = `{"name":"a","image":"i"}`, `{"name":"b","image":"i","ports":[{"containerPort":7070},{"containerPort":7071}]}`
	pod("one", "m1", a, "127.1.1.1")
	pod("two", "m1", a+","+ports, "10.1.1.2")
	pod("far", "silent", a, "169.254.169.254")
	pod("v6", "gone", a, "fd00::1")
	pod("waits", "", a, "127.1.1.3")
	ref := func(name string) string {
		return `"targetRef":{"kind":"Pod","namespace":"default","name":"` + name + `"}`
	}
	for _, made := range [][3]string{
		{"POST", "/api/v1/nodes", `{"metadata":{"name":"m1"}}`},
		{"PATCH", "/api/v1/nodes/m1/status", `{"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":7}}}}`},
		{"POST", "/api/v1/nodes", `{"metadata":{"name":"silent"}}`},
		{"POST", "/api/v1/nodes", `{"metadata":{"name":"far"}}`},
		{"PATCH", "/api/v1/nodes/far/status", `{"status":{"addresses":[{"type":"InternalIP","address":"169.254.169.254"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":7}}}}`},
		{"POST", all + "services", `{"metadata":{"name":"web"},"spec":{"ports":[{"port":80,"name":"http"},{"port":443,"name":"https"}]}}`},
		{"POST", all + "services", `{"metadata":{"name":"idle"},"spec":{"ports":[{"port":80}]}}`},
		{"POST", all + "endpoints", `{"metadata":{"name":"idle"},"subsets":[{"notReadyAddresses":[{"ip":"127.1.1.1",` + ref("one") + `}],"ports":[{"port":8080}]}]}`},
		{"POST", all + "endpoints", `{"metadata":{"name":"web"},"subsets":[{"addresses":[{"ip":"10.1.1.2",` + ref("two") + `},{"ip":"10.9.9.9",` + ref("two") +
			`},{"ip":"10.8.8.8"},{"ip":"10.7.7.7",` + ref("none") + `}],"ports":[{"port":8080,"name":"http"},{"port":8443,"name":"https"}]}]}`},
		{"POST", all + "endpoints", `{"metadata":{"name":"headless"},"subsets":[{"addresses":[{"ip":"127.1.1.1",` + ref("one") + `}],"ports":[{"port":9}]}]}`},
	} {
		answer := send(made[0], made[1], made[2])
		require.Less(t, answer.Code, 300, answer.Body.String())
	}
	return func(method, path string, headers ...string) (status int, text, location string) {
		answer := send(method, "/api/v1/"+path, "", headers...)
		return answer.Code, answer.Body.String(), answer.Header().Get("Location")
	}
}

func TestAStreamIsTheKubeletsOfThePod(t *testing.T) {
	t.Parallel()
	ask := connecting(t)
	for path, want := range map[string]string{
		"one/exec?command=ls&command=-l&command=%2Fa+b&stdout=true&stderr=1": "exec/default/one/a?command=ls&command=-l&command=%2Fa+b&error=1&output=1",
		"one/exec?stdin=&tty=true&stdout=false&stderr=0&container=a":         "exec/default/one/a?input=1&tty=1",
		"two/exec?container=b&pretty=1":                                      "exec/default/two/b",
		"one/attach?stdin=true&stdout=true&command=ls":                       "attach/default/one/a?input=1&output=1",
		"two/attach?container=a&tty=1":                                       "attach/default/two/a?tty=1",
		"two/portforward":                                                    "portForward/default/two",
		"two/portforward?ports=80,81&ports=82&container=x":                   "portForward/default/two?port=80%2C81%2C82",
	} {
		for _, method := range []string{"GET", "POST"} {
			status, text, _ := ask(method, "namespaces/default/pods/"+path, "Connection", "Upgrade", "Upgrade", "SPDY/3.1")
			assert.Equal(t, http.StatusTeapot, status, path)
			assert.Equal(t, "kubelet "+method+" https://127.0.0.1:7/"+want, text, path)
		}
	}
}

func TestAStreamThatCannotBeIsToldWhy(t *testing.T) {
	t.Parallel()
	ask := connecting(t)
	for _, row := range []struct {
		path   string
		status int
		text   string
	}{
		{"one/exec?command=ls", 400, "Upgrade request required"},
		{"one/portforward", 400, "Upgrade request required"},
		{"x/exec", 404, `pods \"x\" not found`},
		{"two/exec", 400, "a container name must be specified for pod two, choose one of: [a b]"},
		{"two/attach?container=x", 400, "container x is not valid for pod two"},
		{"waits/exec", 400, "pod waits does not have a host assigned"},
		{"waits/portforward", 400, "pod waits does not have a host assigned"},
		{"v6/exec", 404, `pods \"gone\" not found`},
		{"far/attach", 400, `no kubelet has reported that it listens on node \"silent\"`},
		{"one/portforward?ports=x", 400, `cannot convert to []int32: strconv.ParseUint: parsing \"x\": invalid syntax`},
		{"one/portforward?ports=65536", 400, "value out of range"},
		{"one/exec?dryRun=All", 400, "dryRun is not supported"},
	} {
		status, text, _ := ask("POST", "namespaces/default/pods/"+row.path)
		assert.Equal(t, row.status, status, row.path)
		assert.Contains(t, text, row.text, row.path)
		assert.Contains(t, text, `"kind":"Status"`, row.path)
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
		status, _, _ := ask(method, "namespaces/default/pods/one/exec", "Connection", "Upgrade", "Upgrade", "SPDY/3.1")
		assert.Equal(t, http.StatusMethodNotAllowed, status, method)
	}
}

func TestAWebServerIsAskedInAPodAServiceOrANode(t *testing.T) {
	t.Parallel()
	ask := connecting(t)
	for path, want := range map[string]string{
		"namespaces/default/pods/one/proxy/":                      "network http://127.1.1.1/",
		"namespaces/default/pods/one:80/proxy/a/b?c=d&c=e":        "network http://127.1.1.1:80/a/b?c=d&c=e",
		"namespaces/default/pods/https:one:443/proxy/a/":          "network https://127.1.1.1:443/a/",
		"namespaces/default/pods/two/proxy/":                      "network http://10.1.1.2:7070/",
		"namespaces/default/pods/v6:80/proxy/":                    "network http://[fd00::1]:80/",
		"namespaces/default/pods/v6/proxy/":                       "network http://[fd00::1]/",
		"namespaces/default/pods/one/proxy/../../x/./y//z":        "network http://127.1.1.1/x/y/z",
		"namespaces/default/pods/one/proxy/a%20b%3Fc":             "network http://127.1.1.1/a%20b%3Fc",
		"namespaces/default/services/web:http/proxy/a":            "network http://10.1.1.2:8080/a",
		"namespaces/default/services/web:80/proxy/":               "network http://10.1.1.2:8080/",
		"namespaces/default/services/https:web:https/proxy/?path": "network https://10.1.1.2:8443/?path",
		"namespaces/default/services/headless/proxy/":             "network http://127.1.1.1:9/",
		"nodes/m1/proxy/healthz":                                  "kubelet https://127.0.0.1:7/healthz",
		"nodes/m1:7/proxy/logs/":                                  "kubelet https://127.0.0.1:7/logs/",
		"nodes/m1:9100/proxy/metrics":                             "network http://127.0.0.1:9100/metrics",
		"nodes/https:m1:9100/proxy/metrics":                       "network https://127.0.0.1:9100/metrics",
	} {
		by, address, _ := strings.Cut(want, " ")
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
			status, text, _ := ask(method, path)
			assert.Equal(t, http.StatusOK, status, path)
			assert.Equal(t, by+" "+method+" "+address, text, path)
		}
	}
}

func TestAPageIsAskedForBelowItsSlash(t *testing.T) {
	t.Parallel()
	ask := connecting(t)
	for _, path := range []string{"namespaces/default/pods/one/proxy", "namespaces/default/services/web:80/proxy", "nodes/m1/proxy"} {
		for _, method := range []string{"GET", "HEAD"} {
			status, _, location := ask(method, path+"?a=b")
			assert.Equal(t, http.StatusMovedPermanently, status, path)
			assert.Equal(t, "/api/v1/"+path+"/?a=b", location)
		}
		status, text, _ := ask("POST", path)
		assert.Equal(t, http.StatusOK, status, text)
	}
}

func TestAWebServerThatCannotBeAskedIsToldWhy(t *testing.T) {
	t.Parallel()
	ask := connecting(t)
	for _, row := range []struct {
		path   string
		status int
		text   string
	}{
		{"namespaces/default/pods/x/proxy/", 404, `pods \"x\" not found`},
		{"namespaces/default/pods/a:b:c:d/proxy/", 400, `invalid pod request \"a:b:c:d\"`},
		{"namespaces/default/pods/far/proxy/", 400, "address not allowed"},
		{"namespaces/default/services/x/proxy/", 404, `endpoints \"x\" not found`},
		{"namespaces/default/services/x:80/proxy/", 404, `services \"x\" not found`},
		{"namespaces/default/services/web:81/proxy/", 503, `no service port 81 found for service \"web\"`},
		{"namespaces/default/services/web/proxy/", 503, `no endpoints available for service \"web\"`},
		{"namespaces/default/services/web:other/proxy/", 503, `no endpoints available for service \"web:other\"`},
		{"namespaces/default/services/idle/proxy/", 503, `no endpoints available for service \"idle\"`},
		{"namespaces/default/services/a:b:c:d/proxy/", 400, `invalid service request \"a:b:c:d\"`},
		{"nodes/x/proxy/", 404, `nodes \"x\" not found`},
		{"nodes/far/proxy/", 400, "address not allowed"},
		{"nodes/silent/proxy/", 400, `no kubelet has reported that it listens on node \"silent\"`},
		{"nodes/a:b:c:d/proxy/", 400, `invalid node request \"a:b:c:d\"`},
		{"nodes/m1/proxy/?dryRun=All", 400, "dryRun is not supported"},
	} {
		status, text, _ := ask("GET", row.path)
		assert.Equal(t, row.status, status, row.path)
		assert.Contains(t, text, row.text, row.path)
		assert.Contains(t, text, `"kind":"Status"`, row.path)
	}
}
