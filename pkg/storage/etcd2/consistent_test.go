package etcd2_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage/etcd2"
)

// keysOf returns all keys in a directory of an etcd, with their values.
func keysOf(t *testing.T, client etcdtest.Client, dir string) map[string]string {
	keys := map[string]string{}
	for key, node := range valuesBelow(nodeOf(t, client, dir), map[string]*etcd.Node{}) {
		keys[key] = node.Value
	}
	return keys
}

// nodeOf returns a key of an etcd, with all that is in it; nil if it is not there.
func nodeOf(t *testing.T, client etcdtest.Client, key string) *etcd.Node {
	resp, err := client.Get(key, true, true)
	if refused := (*etcd.EtcdError)(nil); errors.As(err, &refused) && refused.ErrorCode == etcdtest.KeyNotFound {
		return nil
	}
	require.NoError(t, err)
	return resp.Node
}

// valuesBelow returns all keys in a directory, which may be nil, with their values.
func valuesBelow(node *etcd.Node, keys map[string]*etcd.Node) map[string]*etcd.Node {
	if node == nil {
		return keys
	}
	if !node.Dir {
		keys[node.Key] = node
	}
	for _, below := range node.Nodes {
		valuesBelow(below, keys)
	}
	return keys
}

// requireConsistent checks that an etcd is consistent: each task, and each pod that has a
// machine, is once in its machine's list; each is in the index; nothing else is in either.
// No two of them have the same host port on a machine.
func requireConsistent(t *testing.T, client etcdtest.Client) {
	t.Helper()
	index := keysOf(t, client, indexKey)
	tasks := map[string]bool{}
	lists := map[string]string{}
	owners := map[string]string{}
	hosts := valuesBelow(nodeOf(t, client, hostsKey), map[string]*etcd.Node{})
	check := func(machine, id, indexed string, node *etcd.Node) {
		require.Equal(t, indexed, index[indexEntryKey(id)], "%s: its index key", id)
		delete(index, indexEntryKey(id))
		if machine == "" {
			return
		}
		tasks[machine+" "+id] = true
		list := hosts[kubeletKey(machine)]
		require.NotNil(t, list, machine)
		require.True(t, etcd2.Consistent(node, list.Value), "%s: it has not one manifest, that of its version, in %s", id, list.Value)
		var task api.Task
		require.NoError(t, v1beta1.Codec.Unmarshal([]byte(node.Value), &task))
		for _, port := range task.HostPorts() {
			place := fmt.Sprint(machine, ":", port)
			require.Empty(t, owners[place], "%s: %s has its port", id, place)
			owners[place] = id
		}
	}
	for key, node := range hosts {
		machine, rest, _ := strings.Cut(strings.TrimPrefix(key, hostsKey+"/"), "/")
		if rest == "kubelet" {
			lists[machine] = node.Value
			continue
		}
		check(machine, strings.TrimPrefix(rest, "tasks/"), machine, node)
	}
	for key, node := range valuesBelow(nodeOf(t, client, podsKey), map[string]*etcd.Node{}) {
		var pod api.Task
		require.NoError(t, v1beta1.Codec.Unmarshal([]byte(node.Value), &pod))
		id := strings.TrimPrefix(key, podsKey+"/")
		indexed := index[indexEntryKey(id)]
		require.Contains(t, []string{"pods/", "pods/" + pod.CurrentState.Host}, indexed, "%s: its index key", id)
		check(pod.CurrentState.Host, id, indexed, node)
	}
	require.Empty(t, index, "index keys without a task")
	for machine, list := range lists {
		var manifests []struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(list), &manifests))
		for _, manifest := range manifests {
			require.True(t, tasks[machine+" "+manifest.ID], "%s: a manifest without a task on %s", manifest.ID, machine)
		}
	}
	specs := keysOf(t, client, specsKey)
	for key := range keysOf(t, client, endpointsKey) {
		require.Contains(t, specs, specKey(strings.TrimPrefix(key, endpointsKey+"/")), "endpoints without a service")
	}
}

// reconcile calls Reconcile now and again after the grace.
func reconcile(t *testing.T, registry *etcdRegistry, c *clock) {
	t.Helper()
	require.NoError(t, registry.Reconcile())
	c.time = c.time.Add(etcd2.Grace)
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
		requireConsistent(t, client)
	})
}

// D23: of concurrent creates no manifest is lost, also through two apiservers.
func TestD23ConcurrentCreatesLoseNoManifest(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, client etcdtest.Client) {
		apiservers := []*etcdRegistry{unhurried(client), unhurried(client)}
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
		requireConsistent(t, client)
	})
}
