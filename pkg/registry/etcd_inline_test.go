package registry

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/etcd/etcdtest"
)

// keysOf returns all keys in a directory of an etcd, with their values.
func keysOf(t *testing.T, client etcdtest.Client, dir string) map[string]string {
	keys := map[string]string{}
	resp, err := client.Get(dir, true, true)
	if hasCode(err, notFound) {
		return keys
	}
	require.NoError(t, err)
	var walk func(*etcd.Node)
	walk = func(node *etcd.Node) {
		if !node.Dir {
			keys[node.Key] = node.Value
		}
		for _, below := range node.Nodes {
			walk(below)
		}
	}
	walk(resp.Node)
	return keys
}

// requireInLine checks that an etcd is consistent: each task is once in its
// machine's list and in the index, and nothing else is in either. No two tasks
// have the same host port on a machine.
func requireInLine(t *testing.T, client etcdtest.Client) {
	t.Helper()
	registry := unhurried(client)
	all, _, err := registry.readDirectory("check", hostsKey)
	require.NoError(t, err)
	index := keysOf(t, client, indexKey)
	for _, directory := range nodesOf(all) {
		state := makeMachineState(baseName(directory.Key), directory, 0, nil)
		require.Nil(t, state.badList)
		inList := map[string]int{}
		for _, entry := range state.entries {
			inList[entry.id]++
		}
		ports := portOwners{}
		for _, stored := range state.tasks {
			task, err := decodeTask(state.machine, stored.node)
			require.NoError(t, err)
			require.Equal(t, 1, inList[task.ID], "%s: how often it is in the list of %s", task.ID, state.machine)
			delete(inList, task.ID)
			require.True(t, madeFrom(state.entry(task.ID), *task), "%s: its manifest is that of another version", task.ID)
			require.NoError(t, ports.check(state.machine, *task))
			ports.take(task.ID, hostPorts(*task))
			require.Equal(t, state.machine, index[indexEntryKey(task.ID)], "%s: its entry in the index", task.ID)
			delete(index, indexEntryKey(task.ID))
		}
		require.Empty(t, inList, "manifests without a task")
	}
	require.Empty(t, index, "index entries without a task")
	services, err := registry.ListServices()
	require.NoError(t, err)
	_, endpoints, err := registry.ListServicesAndEndpoints()
	require.NoError(t, err)
	for _, service := range services.Items {
		delete(endpoints, service.ID)
	}
	require.Empty(t, endpoints, "endpoints without a service")
}

// clock is a clock that a test moves.
type clock struct{ time time.Time }

func (c *clock) now() time.Time { return c.time }

// patientless makes a registry with a test clock. When it waits for other
// requests, it only moves that clock.
func patientless(client etcdtest.Client) (*EtcdRegistry, *clock) {
	registry, c := MakeEtcdRegistry(client, nil), &clock{time.Unix(1_400_000_000, 0)}
	registry.now, registry.sleep = c.now, func(wait time.Duration) { c.time = c.time.Add(wait) }
	return registry, c
}

// onClockOf is like patientless, with the clock of another registry.
func onClockOf(other *EtcdRegistry, client etcdtest.Client) *EtcdRegistry {
	registry, _ := patientless(client)
	registry.now, registry.sleep = other.now, other.sleep
	return registry
}

// reconcile calls Reconcile now and again after the grace.
func reconcile(t *testing.T, registry *EtcdRegistry, c *clock) {
	t.Helper()
	require.NoError(t, registry.Reconcile())
	c.time = c.time.Add(grace)
	require.NoError(t, registry.Reconcile())
}

func put(t *testing.T, client etcdtest.Client, key string, value interface{}) {
	var data []byte
	var err error
	switch value := value.(type) {
	case api.Task, api.Service, api.ReplicationController, api.Endpoints:
		data, err = v1beta1.Codec.Marshal(value)
	case []api.ContainerManifest:
		list := []json.RawMessage{}
		for _, manifest := range value {
			one, err := v1beta1.Codec.Marshal(manifest)
			require.NoError(t, err)
			list = append(list, one)
		}
		data, err = json.Marshal(list)
	default:
		data, err = json.Marshal(value)
	}
	require.NoError(t, err)
	_, err = client.Set(key, string(data), 0)
	require.NoError(t, err)
}

func onEachEtcd(t *testing.T, test func(t *testing.T, client etcdtest.Client)) {
	t.Parallel()
	for name, makeEtcd := range etcds {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			test(t, makeEtcd(t))
		})
	}
}

func TestTheKeysAreTheOriginals(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		registry := unhurried(client)
		require.NoError(t, registry.CreateService(makeService("web-ui", 80)))
		require.NoError(t, registry.CreateTask("10.0.0.1", makeTask("x", 8080)))
		require.NoError(t, registry.CreateController(makeController("c", 2)))
		require.NoError(t, registry.UpdateEndpoints(api.Endpoints{Name: "web-ui", Endpoints: []string{"10.0.0.1:8080"}}))
		container := `{"image":"dockerfile/nginx","ports":[{"hostPort":8080,"containerPort":80}]`
		assert.Equal(t, map[string]string{
			"/registry/hosts/10.0.0.1/tasks/x": `{"id":"x","desiredState":{"manifest":{"version":"","volumes":null,"containers":[` + container + `}]}},` +
				`"currentState":{"manifest":{"version":"","volumes":null,"containers":null}}}`,
			"/registry/hosts/10.0.0.1/kubelet": `[{"version":"","volumes":null,"containers":[` + container +
				`,"env":[{"name":"WEB_UI_SERVICE_PORT","value":"80"},{"name":"SERVICE_HOST","value":"10.0.0.1"}]}],"id":"x"}]`,
			"/registry/controllers/c": `{"id":"c","desiredState":{"replicas":2,"replicasInSet":{"name":"c"},"taskTemplate":{"desiredState":` +
				`{"manifest":{"version":"","volumes":null,"containers":null}}}},"labels":{"name":"c"}}`,
			"/registry/services/specs/web-ui":     `{"id":"web-ui","port":80,"labels":{"name":"web-ui"}}`,
			"/registry/services/endpoints/web-ui": `{"Name":"web-ui","Endpoints":["10.0.0.1:8080"]}`,
		}, keysOf(t, client, "/registry"), "the index is hidden from listings")
		assert.Equal(t, map[string]string{"/registry/_tasks/x": "10.0.0.1"}, keysOf(t, client, "/registry/_tasks"))
		requireInLine(t, client)
	})
}

// D23: of concurrent creates no manifest is lost, also through two apiservers.
func TestD23ConcurrentCreatesLoseNoManifest(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		apiservers := []*EtcdRegistry{unhurried(client), unhurried(client)}
		var work []func()
		for i := range 40 {
			work = append(work, func() {
				assert.NoError(t, apiservers[i%2].CreateTask("m", makeTask(fmt.Sprintf("task-%02d", i), 100+i)))
			})
		}
		inParallel(work)
		tasks, err := apiservers[0].ListTasks(nil)
		require.NoError(t, err)
		assert.Len(t, tasks, 40)
		requireInLine(t, client)
	})
}
