package main

import (
	"encoding/json"
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

	"kube2014/pkg/api"
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
	onEtcd := makeEtcdRegistry(around, nil)
	require.NoError(t, onEtcd.CreateTask("127.0.0.1", makeTask("web", 80)))
	require.NoError(t, onEtcd.CreateController(api.ReplicationController{JSONBase: api.JSONBase{ID: "web"}}))
	require.NoError(t, onEtcd.CreateService(api.Service{JSONBase: api.JSONBase{ID: "web"}}))
	stores := registries{tasks: onEtcd, controllers: onEtcd, services: onEtcd}
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

// A command line is accepted with valid values, or refused in one line.
func FuzzParseFlags(f *testing.F) {
	for _, args := range []string{"", "-port=0", "-port\x00x", "-machines\x00a,b\x00-machines=c", "-api_prefix=/x/", "-scheduler=random", "serve",
		"-etcd_servers=http://127.0.0.1:4001", "-h", "-version", "--", "-a\nb", "-port=\n", "-machines=::1,a\x00-address=::1"} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var args []string
		if line != "" {
			args = strings.Split(line, "\x00")
		}
		o, err := parseFlags(args)
		if err != nil {
			assert.Empty(t, clienttest.Leaks(err.Error(), api.Printable(line, ' ')), err)
			assert.Less(t, len(err.Error()), 700)
			return
		}
		assert.LessOrEqual(t, o.port, uint(65535))
		assert.NotNil(t, schedulers[o.scheduler])
		assert.True(t, isHost(o.address))
		assert.NotEmpty(t, o.machines)
		if o.prefix != "" {
			assert.Equal(t, path.Clean(o.prefix), o.prefix)
		}
		for _, machine := range o.machines {
			assert.Equal(t, "/registry/hosts/"+machine, path.Clean("/registry/hosts/"+machine))
		}
	})
}
