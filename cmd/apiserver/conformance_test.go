package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/client"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/client/kubeletclient"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/registry"
	genericoptions "kube2014/pkg/server/options"
)

// recording is a file of requests to the original apiserver, with the answers
// that are our contract.
type recording struct {
	Machines []string
	Steps    []step
	// EtcdAtTheEnd holds every key that the original had written.
	EtcdAtTheEnd map[string]string `json:"etcd_at_the_end"`
}

type step struct {
	Name, Method, Path, Deviation string
	Body                          string
	Contract                      struct {
		Status      int
		ContentType string `json:"content_type"`
		Body        *string
		Contains    []string
	}
}

func load(t *testing.T, file string) recording {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var recorded recording
	require.NoError(t, json.Unmarshal(data, &recorded))
	require.NotEmpty(t, recorded.Steps)
	return recorded
}

// makeRegistries makes empty registries of each kind.
var makeRegistries = map[string]func(t *testing.T) registries{
	"memory": func(*testing.T) registries { return memoryRegistries() },
	"fake etcd": func(*testing.T) registries {
		onEtcd := config.MakeEtcdRegistry(etcdtest.NewFake(), nil)
		return registries{Tasks: onEtcd, Controllers: onEtcd, Services: onEtcd}
	},
	"etcd": func(t *testing.T) registries {
		stores, err := etcdRegistries([]string{startEtcd(t).URL}, nil)
		require.NoError(t, err)
		return stores
	},
	"etcd3": func(t *testing.T) registries { return sharedEtcd3.newPlace(t).registries(t) },
	"etcd3 of 3.4": func(t *testing.T) registries {
		if testing.Short() {
			t.Skip("make long runs etcd 3.4")
		}
		return sharedEtcd34.newPlace(t).registries(t)
	},
}

// startEtcd starts a real etcd of one member, which ends with the test.
func startEtcd(t *testing.T, flags ...string) *etcdtest.Server {
	server, err := etcdtest.Start(t.TempDir(), flags...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Kill()) })
	return server
}

// keysIn reads all keys in a directory with nothing but HTTP, as curl would, again
// while etcd is too slow to answer.
func keysIn(t *testing.T, etcdURL, directory string) map[string]string {
	type node struct {
		Key, Value string
		Dir        bool
		Nodes      []node
	}
	var answer struct{ Node node }
	eventually(t, func() bool {
		resp, err := http.Get(etcdURL + "/v2/keys" + directory + "?recursive=true&quorum=true")
		require.NoError(t, err)
		defer resp.Body.Close()
		if resp.StatusCode >= 500 {
			return false
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
		return true
	}, "etcd answers")
	keys := map[string]string{}
	var walk func(node)
	walk = func(n node) {
		if !n.Dir {
			keys[n.Key] = n.Value
		}
		for _, below := range n.Nodes {
			walk(below)
		}
	}
	walk(answer.Node)
	return keys
}

// Every key and value that the original had written is ours, byte for byte.
func TestTheHappyRecordingLeavesTheOriginalsKeys(t *testing.T) {
	t.Parallel()
	recorded := load(t, "testdata/happy.json")
	server := startEtcd(t)
	stores, err := etcdRegistries([]string{server.URL}, recorded.Machines)
	require.NoError(t, err)
	replay(t, recorded, stores)
	require.NoError(t, registry.MakeEndpointController(stores.Services, stores.Tasks).SyncServiceEndpoints())
	require.NoError(t, stores.Reconcile())
	require.Len(t, recorded.EtcdAtTheEnd, 12)
	assert.Equal(t, recorded.EtcdAtTheEnd, keysIn(t, server.URL, "/registry"))
}

// On etcd's v3 API each object and each host port has a key, and nothing else has.
func TestTheHappyRecordingLeavesAKeyForEachObjectOnEtcd3(t *testing.T) {
	t.Parallel()
	recorded := load(t, "testdata/happy.json")
	place := sharedEtcd3.newPlace(t)
	stores := place.registries(t)
	replay(t, recorded, stores)
	require.NoError(t, registry.MakeEndpointController(stores.Services, stores.Tasks).SyncServiceEndpoints())
	before := place.keys(t)
	require.NoError(t, stores.Reconcile())
	assert.Equal(t, before, place.keys(t), "there is nothing to repair")
	want := map[string]string{}
	for key, value := range recorded.EtcdAtTheEnd {
		machine, id, isTask := strings.Cut(strings.TrimPrefix(key, "/registry/hosts/"), "/tasks/")
		if !isTask {
			if !strings.HasSuffix(key, "/kubelet") {
				want[backend(genericoptions.Etcd3).key(key)] = value
			}
			continue
		}
		var task api.Task
		require.NoError(t, v1beta1.Codec.Unmarshal([]byte(value), &task))
		for _, port := range task.HostPorts() {
			want[fmt.Sprint("/registry/hostports/", machine, "/", port)] = "/pods/default/" + id
		}
		own := backend(genericoptions.Etcd3).taskKey(id)
		want[own] = before[own]
	}
	assert.Equal(t, want, before)
}

// onEachStore runs a test over registries of each kind.
func onEachStore(t *testing.T, test func(t *testing.T, stores registries)) {
	t.Parallel()
	for name, makeStores := range makeRegistries {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			test(t, makeStores(t))
		})
	}
}

// stubKubelet answers for every container of 127.0.0.1 as the kubelet did when
// the recording was made.
func stubKubelet(t *testing.T) *kubeletclient.HTTPContainerInfo {
	kubelet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		assert.Equal(t, "/containerInfo", req.URL.Path)
		fmt.Fprintf(w, `{"State": {"Running": true, "Pid": 4711}, "Name": %q}`, req.URL.Query().Get("container"))
	}))
	t.Cleanup(kubelet.Close)
	address, err := url.Parse(kubelet.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(address.Port())
	require.NoError(t, err)
	return &kubeletclient.HTTPContainerInfo{Client: kubelet.Client(), Port: uint(port), Timeout: hangs}
}

// replay sends the recorded requests to a server over the registries and
// compares the answers.
func replay(t *testing.T, recorded recording, stores registries) {
	scheduler := registry.MakeFirstFitScheduler(recorded.Machines, stores.Tasks)
	server := httptest.NewServer(newHandler(stores, stubKubelet(t), scheduler, client.DefaultPrefix))
	t.Cleanup(server.Close)
	for _, step := range recorded.Steps {
		name := strings.TrimSpace(step.Deviation + " " + step.Name)
		req, err := http.NewRequest(step.Method, server.URL+step.Path, strings.NewReader(step.Body))
		require.NoError(t, err, name)
		resp, err := server.Client().Do(req) // others end the idle connections of http.DefaultTransport
		require.NoError(t, err, name)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(t, err, name)

		want := step.Contract
		assert.Equal(t, want.Status, resp.StatusCode, "%s: %s", name, body)
		if want.ContentType != "" {
			assert.Equal(t, want.ContentType, resp.Header.Get("Content-Type"), name)
		}
		if want.Body != nil {
			assert.Equal(t, *want.Body, string(body), name)
		}
		for _, part := range want.Contains {
			assert.Contains(t, string(body), part, name)
		}
		if want.Status >= 400 {
			assertOneLine(t, resp.StatusCode, string(body))
		}
	}
}

var statusTexts = map[int]string{
	400: "Bad Request: ", 403: "Forbidden: ", 404: "Not Found: ", 405: "Method Not Allowed: ", 409: "Conflict: ",
	413: "Request Entity Too Large: ", 500: "Internal Error: ", 503: "Service Unavailable: ",
}

// assertOneLine checks what holds for the text of every error (D1, D9).
func assertOneLine(t *testing.T, status int, text string) {
	t.Helper()
	assert.True(t, strings.HasPrefix(text, statusTexts[status]), text)
	assert.Empty(t, clienttest.Leaks(text, ""), text)
	assert.NotContains(t, text, "&")
}

// What the original answered rightly is answered with the same bytes.
func TestTheHappyRecordingIsAnsweredToTheByte(t *testing.T) {
	recorded := load(t, "testdata/happy.json")
	onEachStore(t, func(t *testing.T, stores registries) {
		replay(t, recorded, stores)
		require.NoError(t, registry.MakeEndpointController(stores.Services, stores.Tasks).SyncServiceEndpoints())
		checkEndpoints(t, recorded, stores)
	})
}

// checkEndpoints compares the endpoints with those that the original had
// written to etcd.
func checkEndpoints(t *testing.T, recorded recording, stores registries) {
	want := map[string]api.Endpoints{}
	for key, value := range recorded.EtcdAtTheEnd {
		if name, ok := strings.CutPrefix(key, "/registry/services/endpoints/"); ok {
			var endpoints api.Endpoints
			require.NoError(t, v1beta1.Codec.Unmarshal([]byte(value), &endpoints))
			want[name] = endpoints
		}
	}
	require.NotEmpty(t, want)
	assert.Equal(t, want, endpointsIn(t, stores))
}

// What the original answered wrongly is answered as the deviations say: D1 to
// D6, D8 to D16.
func TestTheWrongRecordingIsAnsweredAsTheDeviationsSay(t *testing.T) {
	recorded := load(t, "testdata/wrong.json")
	onEachStore(t, func(t *testing.T, stores registries) { replay(t, recorded, stores) })
}

// wrong.json does not show it: a refused request stores nothing.
func TestWhatWasRefusedIsNotStored(t *testing.T) {
	recorded := load(t, "testdata/wrong.json")
	onEachStore(t, func(t *testing.T, stores registries) {
		replay(t, recorded, stores)
		checkWhatIsStored(t, stores)
	})
}

func checkWhatIsStored(t *testing.T, stores registries) {
	tasks, err := stores.Tasks.ListTasks(nil)
	require.NoError(t, err)
	var ids []string
	for _, task := range tasks {
		ids = append(ids, task.ID)
		assert.Equal(t, api.TaskState{Host: "127.0.0.1"}, task.CurrentState, "D11: no task claims a host")
	}
	assert.Equal(t, []string{"spoof", "web-1"}, ids)
	controllers, err := stores.Controllers.ListControllers()
	require.NoError(t, err)
	assert.Empty(t, controllers)
	services, err := stores.Services.ListServices()
	require.NoError(t, err)
	assert.Empty(t, services.Items)
}

func sortedKeys(keys map[string]string) []string { return slices.Sorted(maps.Keys(keys)) }

// serveOne sends a request to a handler without a network.
func serveOne(handler http.Handler, method, path, body string) (int, string) {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
	return recorder.Code, recorder.Body.String()
}

// makeTaskWithText returns a task that is about as large as the text.
func makeTaskWithText(id, text string) api.Task {
	task := api.Task{JSONBase: api.JSONBase{ID: id}}
	task.DesiredState.Manifest.Containers = []api.Container{{Command: text}}
	return task
}

// D6: of 32 clients that POST one id, one is answered with 200 and 31 with 409.
func TestD6Of32ClientsOneGetsTheID(t *testing.T) {
	onEachStore(t, func(t *testing.T, stores registries) {
		scheduler := registry.MakeRoundRobinScheduler([]string{"127.0.0.1", "127.0.0.2", "127.0.0.3"})
		server := httptest.NewServer(newHandler(stores, clienttest.FakeContainerInfo{}, scheduler, client.DefaultPrefix))
		t.Cleanup(server.Close)
		for _, resource := range []string{"tasks", "replicationControllers", "services"} {
			statuses := map[int]int{}
			var mu sync.Mutex // guards statuses
			var group sync.WaitGroup
			for range 32 {
				group.Go(func() {
					resp, err := http.Post(server.URL+client.DefaultPrefix+"/"+resource, "", strings.NewReader(`{"id": "x"}`))
					if assert.NoError(t, err) {
						resp.Body.Close()
						mu.Lock()
						statuses[resp.StatusCode]++
						mu.Unlock()
					}
				})
			}
			group.Wait()
			assert.Equal(t, map[int]int{200: 1, 409: 31}, statuses, resource)
		}
	})
}

// D36: an empty list of services is empty, not null, and so is one of which no item
// carries the labels.
func TestD36AnEmptyListHasItsItems(t *testing.T) {
	onEachStore(t, func(t *testing.T, stores registries) {
		handler := newHandler(stores, clienttest.FakeContainerInfo{}, registry.MakeRoundRobinScheduler(nil), client.DefaultPrefix)
		check := func() {
			for path, want := range map[string]string{
				"/tasks": "{\n    \"items\": []\n}", "/services": "{\n    \"items\": []\n}", "/replicationControllers": "{}",
			} {
				for _, query := range []string{"?labels=name=nobody", "?labels=name=nobody,tier=none"} {
					status, text := serveOne(handler, "GET", client.DefaultPrefix+path+query, "")
					assert.Equal(t, http.StatusOK, status)
					assert.Equal(t, want, text, path)
				}
			}
		}
		check()
		require.NoError(t, stores.Services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "s"}}))
		require.NoError(t, stores.Controllers.CreateController(api.ReplicationController{JSONBase: api.JSONBase{ID: "c"}}))
		require.NoError(t, stores.Tasks.CreateTask("127.0.0.1", makeTask("t", 80)))
		check()
		require.NoError(t, stores.Services.DeleteService("s"))
		status, text := serveOne(handler, "GET", client.DefaultPrefix+"/services", "")
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, "{\n    \"items\": []\n}", text)
	})
}
