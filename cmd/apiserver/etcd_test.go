package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/registry"
)

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, 10*time.Millisecond, what)
}

func makeTask(id string, port int) api.Task {
	task := api.Task{JSONBase: api.JSONBase{ID: id}, Labels: map[string]string{"name": id}}
	task.DesiredState.Manifest.Containers = []api.Container{{Image: "dockerfile/nginx", Ports: []api.Port{{HostPort: port, ContainerPort: 80}}}}
	return task
}

func healthz(t *testing.T, address string) (int, string) {
	resp, err := http.Get("http://" + address + "/healthz")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func TestAnEtcdThatCannotServeEndsTheProgramWithALine(t *testing.T) {
	server := startEtcd(t, "--enable-v2=false")
	code, stdout, stderr := runWith("-port", "0", "-etcd_servers", server.URL)
	assert.Equal(t, 2, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "apiserver: -etcd_servers: "+server.URL+" is an etcd that does not serve the v2 keys API: start it (3.4 or 3.5) with --enable-v2\n", stderr)
}

// While etcd is down requests are answered with 503, and nothing is lost; the
// apiserver may be killed at any time.
func TestEtcdGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	require.NoError(t, server.Kill()) // it is not up yet
	cmd, log, address := program(t, "-etcd_servers", server.URL)
	c := &client.Client{Host: "http://" + address}
	_, err := c.CreateTask(makeTask("web", 80))
	assert.Equal(t, api.Unavailable, api.KindOf(err))
	status, text := healthz(t, address)
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "Service Unavailable: health check: the store cannot be reached", text)

	require.NoError(t, server.Restart())
	require.NoError(t, server.Ready())
	_, err = c.CreateTask(makeTask("web", 80))
	require.NoError(t, err)
	_, err = c.CreateService(api.Service{JSONBase: api.JSONBase{ID: "s"}, Port: 1})
	require.NoError(t, err)
	status, text = healthz(t, address)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok", text)

	require.NoError(t, cmd.Process.Kill())
	log.end()
	_, _, address = program(t, "-etcd_servers", server.URL)
	c = &client.Client{Host: "http://" + address}
	task, err := c.GetTask("web")
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", task.CurrentState.Host)

	require.NoError(t, server.Kill())
	_, err = c.GetTask("web")
	assert.Equal(t, api.Unavailable, api.KindOf(err))
	require.NoError(t, server.Restart())
	require.NoError(t, server.Ready())
	tasks, err := c.ListTasks(nil)
	require.NoError(t, err)
	assert.Len(t, tasks.Items, 1)
}

func TestAnEtcdThatHangsCostsFiveSecondsAtMost(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	stores, err := etcdRegistries([]string{server.URL}, nil)
	require.NoError(t, err)
	require.NoError(t, stores.tasks.CreateTask("127.0.0.1", makeTask("old", 80)))
	handler := newHandler(stores, stubKubelet(t), registry.MakeFirstFitScheduler([]string{"127.0.0.1"}, stores.tasks), client.DefaultPrefix)
	require.NoError(t, server.Pause())
	var group sync.WaitGroup
	for i := range 64 {
		method, path, body := "GET", "/api/v1beta1/tasks/old", ""
		switch i % 5 {
		case 1:
			path = "/api/v1beta1/tasks"
		case 2:
			method, path, body = "POST", "/api/v1beta1/tasks", fmt.Sprintf(`{"id": "new-%d"}`, i)
		case 3:
			method, body = "PUT", `{}`
		case 4:
			method = "DELETE"
		}
		group.Go(func() {
			start := time.Now()
			status, text := serveOne(handler, method, path, body)
			assert.Equal(t, http.StatusServiceUnavailable, status, text)
			assert.True(t, strings.HasPrefix(text, "Service Unavailable: "), text)
			assert.Less(t, time.Since(start), 5*time.Second, method+" "+path)
		})
	}
	group.Wait()
	require.NoError(t, server.Resume())
	eventually(t, func() bool { status, _ := serveOne(handler, "GET", "/api/v1beta1/tasks", ""); return status == 200 }, "it recovers by itself")
}

// The keys are an interface: this test reads them and waits for changes like the
// proxy and the kubelet of that commit.
func TestTheProxyAndTheKubeletFindWhatTheyRead(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	stores, err := etcdRegistries([]string{server.URL}, nil)
	require.NoError(t, err)
	sync := func() {
		require.NoError(t, registry.MakeEndpointController(stores.services, stores.tasks).SyncServiceEndpoints())
	}
	reader, err := etcd.New([]string{server.URL})
	require.NoError(t, err)
	defer reader.Close()

	require.NoError(t, stores.services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 8000, Labels: map[string]string{"name": "web"}}))
	sync()

	// The proxy reads the specs, then the endpoints of each.
	specs, err := reader.Get("/registry/services/specs", false, true)
	require.NoError(t, err)
	require.Len(t, specs.Node.Nodes, 1)
	var service api.Service
	require.NoError(t, json.Unmarshal([]byte(specs.Node.Nodes[0].Value), &service))
	assert.Equal(t, 8000, service.Port)
	endpointsOf := func(value string) []string {
		var endpoints api.Endpoints
		require.NoError(t, json.Unmarshal([]byte(value), &endpoints))
		assert.Equal(t, "web", endpoints.Name)
		return endpoints.Endpoints
	}
	endpoints, err := reader.Get("/registry/services/endpoints/"+service.ID, false, false)
	require.NoError(t, err)
	assert.Empty(t, endpointsOf(endpoints.Node.Value))

	// A task is created. The proxy reacts to the action set, which the sync
	// uses.
	require.NoError(t, stores.tasks.CreateTask("10.0.0.1", makeTask("web", 8080)))
	sync()
	change, err := reader.Watch("/registry/services", endpoints.EtcdIndex+1, true, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "set", change.Action)
	assert.Equal(t, "/registry/services/endpoints/web", change.Node.Key)
	assert.Equal(t, []string{"10.0.0.1:8080"}, endpointsOf(change.Node.Value))

	// A changed service is no set: the proxy meets it at its next resync (D43).
	service.Port = 8001
	require.NoError(t, stores.services.UpdateService(service))
	change, err = reader.Watch("/registry/services", change.Node.ModifiedIndex+1, true, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "compareAndSwap", change.Action)
	assert.Equal(t, "/registry/services/specs/web", change.Node.Key)

	// The kubelet reads its machine's list, and waits for it to change.
	manifests := func(value string) []string {
		var list []api.ContainerManifest
		require.NoError(t, json.Unmarshal([]byte(value), &list))
		var ids []string
		for _, manifest := range list {
			ids = append(ids, manifest.Id)
			env := manifest.Containers[0].Env
			assert.Equal(t, api.EnvVar{Name: "SERVICE_HOST", Value: "10.0.0.1"}, env[len(env)-1])
		}
		return ids
	}
	list, err := reader.Get("/registry/hosts/10.0.0.1/kubelet", false, false)
	require.NoError(t, err)
	assert.Equal(t, []string{"web"}, manifests(list.Node.Value))
	require.NoError(t, stores.tasks.CreateTask("10.0.0.1", makeTask("db", 5432)))
	change, err = reader.Watch("/registry/hosts/10.0.0.1/kubelet", list.EtcdIndex+1, false, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"web", "db"}, manifests(change.Node.Value), "in the order of creation")
	require.NoError(t, stores.tasks.DeleteTask("web"))
	change, err = reader.Watch("/registry/hosts/10.0.0.1/kubelet", change.Node.ModifiedIndex+1, false, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"db"}, manifests(change.Node.Value))

	// Deleting a service deletes both keys.
	require.NoError(t, stores.services.DeleteService("web"))
	assert.Equal(t, []string{"/registry/hosts/10.0.0.1/kubelet", "/registry/hosts/10.0.0.1/tasks/db"}, sortedKeys(keysIn(t, server.URL, "/registry")))
}

// A read through any apiserver on any member sees every acknowledged write.
func TestReadsThroughAnyMemberSeeEveryAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	members, err := etcdtest.StartCluster(t.TempDir(), 3)
	require.NoError(t, err)
	var stores []registries
	for _, member := range members {
		t.Cleanup(func() { assert.NoError(t, member.Kill()) })
		store, err := etcdRegistries([]string{member.URL}, nil)
		require.NoError(t, err)
		stores = append(stores, store)
	}
	for i := range 30 {
		writer, reader := stores[i%3], stores[(i+1+i%2)%3]
		service := api.Service{JSONBase: api.JSONBase{ID: "s"}, Port: i + 1}
		require.NoError(t, writer.services.UpdateService(service))
		read, err := reader.services.GetService("s")
		require.NoError(t, err)
		assert.Equal(t, i+1, read.Port)

		id := fmt.Sprintf("task-%d", i)
		require.NoError(t, writer.tasks.CreateTask("m", makeTask(id, 1000+i)))
		_, err = reader.tasks.GetTask(id)
		require.NoError(t, err)
		tasks, err := reader.tasks.ListTasks(nil)
		require.NoError(t, err)
		assert.Len(t, tasks, i+1)
	}
}

// D41: with the real program, as a person with curl would break it and repair it.
func TestD41OneBadValueDoesNotStopTheServer(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	_, log, address := program(t, "-machines", "127.0.0.1,127.0.0.2", "-etcd_servers", server.URL)
	c := &client.Client{Host: "http://" + address}
	key := server.URL + "/v2/keys/registry/hosts/127.0.0.1/kubelet"
	send := func(method, body string) {
		req, err := http.NewRequest(method, key, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Less(t, resp.StatusCode, 300)
	}
	send(http.MethodPut, "value=broken")

	_, err := c.CreateTask(makeTask("web", 80))
	require.NoError(t, err)
	log.find("etcd key /registry/hosts/127.0.0.1/kubelet: the stored list of manifests .* cannot be decoded")
	task, err := c.GetTask("web")
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.2", task.CurrentState.Host)
	status, text := healthz(t, address)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok\nwarning: the stored list of manifests (key /registry/hosts/127.0.0.1/kubelet) cannot be decoded", text)
	_, err = c.CreateTask(makeTask("web-2", 80))
	assert.EqualError(t, err, `no machine takes task "web-2": machine 127.0.0.1 is passed over, `+
		"the stored list of manifests (key /registry/hosts/127.0.0.1/kubelet) cannot be decoded")

	send(http.MethodDelete, "")
	_, err = c.CreateTask(makeTask("web-2", 80))
	require.NoError(t, err)
	status, text = healthz(t, address)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok", text)
}

func TestSIGTERMEndsTheProgramOnEtcdToo(t *testing.T) {
	t.Parallel()
	cmd, log, address := program(t, "-etcd_servers", startEtcd(t).URL)
	_, err := (&client.Client{Host: "http://" + address}).CreateTask(makeTask("web", 80))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	log.find("stopped$")
	assert.NoError(t, cmd.Wait())
}
