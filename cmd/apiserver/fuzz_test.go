package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/client"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/registry"
)

// secret is a header's value that must appear nowhere.
const secret = "the-secret-of-a-header"

// fuzzServer is a server on a fake etcd that holds an object of each kind; it
// records which keys are touched.
type fuzzServer struct {
	http.Handler
	keys []string
}

func newFuzzServer(t *testing.T) *fuzzServer {
	server := &fuzzServer{}
	around := &etcdtest.Around{Client: etcdtest.NewFake(), Do: func(_, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		server.keys = append(server.keys, key)
		return call()
	}}
	onEtcd := config.MakeEtcdRegistry(around, nil)
	require.NoError(t, onEtcd.CreateTask("127.0.0.1", makeTask("web", 80)))
	require.NoError(t, onEtcd.CreateController(api.ReplicationController{JSONBase: api.JSONBase{ID: "web"}}))
	require.NoError(t, onEtcd.CreateService(api.Service{JSONBase: api.JSONBase{ID: "web"}}))
	stores := registries{Tasks: onEtcd, Controllers: onEtcd, Services: onEtcd}
	scheduler := registry.MakeFirstFitScheduler([]string{"127.0.0.1"}, onEtcd)
	server.Handler = newHandler(stores, clienttest.FakeContainerInfo{}, scheduler, client.DefaultPrefix)
	server.keys = nil
	return server
}

func (s *fuzzServer) send(method, path, query, body, header, value string) *httptest.ResponseRecorder {
	req := &http.Request{
		Method: method, URL: &url.URL{Path: path, RawQuery: query}, RequestURI: path + "?" + query, Host: "127.0.0.1:8080",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		Header: http.Header{"Authorization": {secret}},
	}
	req.Header.Set(header, value)
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, req)
	return recorder
}

// keysOfResource lists the directories that a resource may touch. Tasks are
// answered from the cache, which reads everything.
var keysOfResource = map[string][]string{
	"tasks":                  {"/registry/hosts", "/registry/_tasks/", "/registry/_sync"},
	"replicationControllers": {"/registry/controllers"},
	"services":               {"/registry/services"},
}

func FuzzHandler(f *testing.F) {
	const prefix = client.DefaultPrefix
	for _, file := range []string{"testdata/happy.json", "testdata/wrong.json"} {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		var recorded recording
		require.NoError(f, json.Unmarshal(data, &recorded))
		for _, step := range recorded.Steps {
			path, query, _ := strings.Cut(step.Path, "?")
			f.Add(step.Method, path, query, step.Body, "Accept", "*/*")
		}
	}
	f.Add("POST", prefix+"/tasks", "", `{"id":"x"}`, "Sec-Fetch-Site", "cross-site")
	f.Add("PUT", prefix+"/services/web", "", `{}`, "Origin", "http://evil.example")
	f.Add("PUT", prefix+"/services/new", "", `{"labels":{"a":"b"}}`, "Content-Type", "text/html")
	f.Add("GET", prefix+"/tasks/../services", "labels=%zz", "", "Host", "x")
	f.Add("GET", prefix+"/tasks/a\nb", "labels=a=b;c", "", "A", "b")
	f.Add("DELETE", prefix+"/tasks/web\x00", "", "", "", "")
	f.Add("0", " x", "", "", "", "") // a path that is shown as 0%20x
	f.Add("POST", prefix+"/tasks", "", `{"id":"0x&{"}`, "", "")
	f.Add("POST", prefix+"/tasks", "", "{\"id\":\"\u1230x\"}", "", "")
	f.Add("", "", "", "", "", "")
	log.SetOutput(io.Discard)
	f.Cleanup(func() { log.SetOutput(os.Stderr) })

	f.Fuzz(func(t *testing.T, method, urlPath, query, body, header, value string) {
		server := newFuzzServer(t)
		answer := server.send(method, urlPath, query, body, header, value)
		text := answer.Body.String()
		require.Less(t, answer.Code, 500, text)
		if answer.Code >= 400 {
			require.NotEmpty(t, statusTexts[answer.Code], "an unknown status")
			assert.True(t, strings.HasPrefix(text, statusTexts[answer.Code]), text)
			echo := method + " " + (&url.URL{Path: urlPath}).EscapedPath()
			assert.Empty(t, clienttest.Leaks(text, api.Printable(echo, ' ')), text)
			assert.True(t, strings.Contains(method+urlPath, secret) || !strings.Contains(text, secret), text)
		}
		below, _ := strings.CutPrefix(urlPath, prefix+"/")
		resource, id, _ := strings.Cut(below, "/")
		for _, key := range server.keys {
			assert.Equal(t, path.Clean(key), key)
			allowed := key == "/registry" || key == "/registry/_sync" // to bring the cache up to date
			for _, directory := range keysOfResource[resource] {
				allowed = allowed || strings.HasPrefix(key, directory)
			}
			assert.True(t, allowed, "%s %s touched %s", method, urlPath, key)
		}
		if answer.Code != http.StatusOK || (method != http.MethodPost && method != http.MethodPut) {
			return
		}
		// GET answers what was acknowledged.
		var accepted, stored map[string]interface{}
		require.NoError(t, json.Unmarshal([]byte(text), &accepted))
		if id == "" {
			id = accepted["id"].(string)
		}
		got := server.send("GET", prefix+"/"+resource+"/"+id, "", "", "Accept", "*/*")
		require.Equal(t, http.StatusOK, got.Code, got.Body)
		require.NoError(t, json.Unmarshal(got.Body.Bytes(), &stored))
		if resource == "tasks" {
			assert.Equal(t, "127.0.0.1", stored["currentState"].(map[string]interface{})["host"])
			delete(accepted, "currentState")
			delete(stored, "currentState")
		}
		assert.Equal(t, accepted, stored)
	})
}

// shownAtBoth are the resources of the first door, and those of the second one that have
// the same objects.
var shownAtBoth = []struct {
	first, second     string
	internal          func() api.Object
	today             func() runtime.Object
	atFirst, atSecond string // the objects x and y
}{
	{"tasks", "pods", func() api.Object { return &api.Task{} }, func() runtime.Object { return &corev1.Pod{} },
		`{"id":"x"}`, `{"metadata":{"name":"y"},"spec":{"containers":[{"name":"c","image":"i"}]}}`},
	{"replicationControllers", "replicationcontrollers", func() api.Object { return &api.ReplicationController{} }, func() runtime.Object { return &corev1.ReplicationController{} },
		`{"id":"x"}`, `{"metadata":{"name":"y"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`},
	{"services", "services", func() api.Object { return &api.Service{} }, func() runtime.Object { return &corev1.Service{} },
		`{"id":"x"}`, `{"metadata":{"name":"y"},"spec":{"ports":[{"port":80}]}}`},
}

// assertBothDoorsAgree reads every object at both doors. What the second one shows must
// be what the first one does, apart from what it cannot say.
func assertBothDoorsAgree(t *testing.T, server http.Handler) {
	get := func(path string) []byte {
		status, text := ask(server, "GET", path, "")
		require.Equal(t, http.StatusOK, status, "%s: %s", path, text)
		return text
	}
	for _, resource := range shownAtBoth {
		firstPath, secondPath := client.DefaultPrefix+"/"+resource.first, "/api/v1/namespaces/default/"+resource.second
		var first struct{ Items []struct{ ID string } }
		var second struct {
			Items []metav1.PartialObjectMetadata
		}
		require.NoError(t, json.Unmarshal(get(firstPath), &first))
		require.NoError(t, json.Unmarshal(get(secondPath), &second))
		var ids, names []string
		for _, item := range first.Items {
			ids = append(ids, item.ID)
		}
		for _, item := range second.Items {
			names = append(names, item.Name)
		}
		require.ElementsMatch(t, ids, names, resource.first)
		for _, id := range ids {
			shown, object, same, today := get(firstPath+"/"+id), resource.internal(), resource.internal(), resource.today()
			require.NoError(t, v1beta1.Codec.Unmarshal(shown, object))
			require.NoError(t, json.Unmarshal(get(secondPath+"/"+id), today))
			require.NoError(t, bothVersions.Convert(today, same))
			same.Inherit(object)
			text, err := v1beta1.Codec.Marshal(same)
			require.NoError(t, err)
			assert.JSONEq(t, string(shown), string(text), "%s %s", resource.first, id)
		}
	}
}

// bothVersions converts what has two versions.
var bothVersions = func() *conversion.Scheme {
	scheme := conversion.NewScheme()
	v1.AddConversions(scheme)
	return scheme
}()

// atBoth are requests to a resource at both doors.
var atBoth = []struct{ method, path, contentType string }{
	{"POST", "FIRST", "application/json"}, {"PUT", "FIRST/x", "application/json"}, {"PUT", "FIRST/y", "application/json"},
	{"DELETE", "FIRST/x", ""}, {"DELETE", "FIRST/y", ""},
	{"POST", "SECOND", "application/json"}, {"PUT", "SECOND/x", "application/json"}, {"PUT", "SECOND/y", "application/yaml"},
	{"PATCH", "SECOND/x", "application/merge-patch+json"}, {"PATCH", "SECOND/x", "application/strategic-merge-patch+json"},
	{"PATCH", "SECOND/y", "application/json-patch+json"}, {"PATCH", "SECOND/y/status", "application/merge-patch+json"},
	{"DELETE", "SECOND/x", "application/json"}, {"DELETE", "SECOND", "application/json"},
}

// Whatever is asked at one door, the other one shows the outcome after every request.
func FuzzBothDoorsAgree(f *testing.F) {
	tasks := []string{
		`{"id":"x","desiredState":{"manifest":{"id":"m","volumes":[{"name":"v"}],"containers":[{"name":"c","image":"i","command":"a  b","workingDir":"/",
			"ports":[{"name":"p","hostPort":8080,"containerPort":80}],"env":[{"name":"A","value":"b"}],"memory":1000,"cpu":1,
			"volumeMounts":[{"name":"v","mountPath":"/v","readOnly":true}]}]}},"labels":{"a":"b"}}`,
		`{"id":"Web_1","labels":{"Not a label":"?"}}`,
	}
	pod := `{"metadata":{"name":"%s","annotations":{"a":"b"},"labels":{"a":"c"}},"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}],
		"containers":[{"name":"c","image":"i","command":["a b"],"args":["c"],"resources":{"limits":{"cpu":"1500m","memory":"1Gi"}},
		"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],"ports":[{"containerPort":80,"hostPort":8081,"protocol":"UDP"}]}]}}`
	controllers := []string{`{"id":"x","desiredState":{"replicas":2,"replicasInSet":{"a":"b"},"taskTemplate":{"labels":{"a":"b"}}}}`,
		`{"metadata":{"name":"z"},"spec":{"replicas":3,"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`}
	services := []string{`{"id":"x","port":10,"labels":{"a":"b"}}`, `{"metadata":{"name":"z"},"spec":{"selector":{"a":"b"},"ports":[{"name":"a","port":80},{"name":"b","port":81}]}}`}
	patches := []string{`{"metadata":{"labels":{"n":"1"}}}`, `{"spec":{"containers":[{"name":"c","image":"j"}]}}`, `{"spec":{"replicas":4,"selector":null,"ports":[{"port":90}]}}`,
		`[{"op":"replace","path":"/metadata/labels","value":{"k":"l"}}]`, `{"status":{"phase":"Running","podIP":"1.2.3.4"}}`, `{}`}
	for resource, bodies := range [][]string{append(tasks, fmt.Sprintf(pod, "z"), fmt.Sprintf(pod, "y"), fmt.Sprintf(pod, "x")), controllers, services} {
		for request := range atBoth {
			for i, body := range append(bodies, patches...) {
				f.Add(uint8(resource), uint8(request), body, uint8(request+i), bodies[i%len(bodies)])
			}
		}
	}
	log.SetOutput(io.Discard)
	f.Cleanup(func() { log.SetOutput(os.Stderr) })

	f.Fuzz(func(t *testing.T, resource, first uint8, firstBody string, second uint8, secondBody string) {
		names := shownAtBoth[int(resource)%len(shownAtBoth)]
		server := bothDoors()
		paths := strings.NewReplacer("FIRST", client.DefaultPrefix+"/"+names.first, "SECOND", "/api/v1/namespaces/default/"+names.second)
		send := func(request uint8, body string) int {
			r := atBoth[int(request)%len(atBoth)]
			req := httptest.NewRequest(r.method, paths.Replace(r.path), strings.NewReader(body))
			req.Header.Set("Content-Type", r.contentType)
			answer := httptest.NewRecorder()
			server.ServeHTTP(answer, req)
			require.Less(t, answer.Code, 500, answer.Body)
			assertBothDoorsAgree(t, server)
			return answer.Code
		}
		require.Less(t, send(0, names.atFirst), 300)
		require.Less(t, send(5, names.atSecond), 300)
		send(first, firstBody)
		send(second, secondBody)
	})
}
