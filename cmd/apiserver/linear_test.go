package main

import (
	"fmt"
	"math/rand"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/registry"
)

// operation and reply are one operation on the object of a history.
type operation struct {
	verb    string // create, read, update, delete
	version string // of create and update
}

type reply struct {
	kind    api.ErrorKind // "" for success
	version string        // of a read that succeeded
	gaveUp  bool          // as gaveUp says
}

// gaveUp tells whether a refused update may have found the object changed by others each
// time that it was tried: it is tried for two seconds, which a slow machine can take.
func gaveUp(isConflict bool, took time.Duration) bool { return isConflict && took > 2*time.Second }

// object is the model of one object: its version, "" when it does not exist.
// putCreates reports whether an update of a missing object creates it.
func object(putCreates bool) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return "" },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			version, in, out := state.(string), input.(operation), output.(reply)
			there := version != ""
			switch in.verb {
			case "create":
				if out.kind == "" {
					return !there, in.version
				}
				return there && out.kind == api.AlreadyExists, version
			case "update":
				switch {
				case out.kind == "":
					return there || putCreates, in.version
				case out.gaveUp:
					return true, version
				}
				return !there && !putCreates && out.kind == api.NotFound, version
			case "delete":
				if out.kind == "" {
					return there, ""
				}
				return !there && out.kind == api.NotFound, version
			}
			if out.kind == "" {
				return there && out.version == version, version
			}
			return !there && out.kind == api.NotFound, version
		},
		DescribeOperation: func(input, output interface{}) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

// objectClient sends a request for one object of one resource.
type objectClient func(c *client.Client, in operation) (version string, err error)

func taskClient(c *client.Client, in operation) (string, error) {
	task := makeTask("x", 80)
	task.Labels = map[string]string{"version": in.version}
	var err error
	switch in.verb {
	case "create":
		_, err = c.CreateTask(task)
	case "update":
		_, err = c.UpdateTask(task)
	case "delete":
		err = c.DeleteTask("x")
	default:
		task, err = c.GetTask("x")
	}
	return task.Labels["version"], err
}

func serviceClient(c *client.Client, in operation) (string, error) {
	service := api.Service{JSONBase: api.JSONBase{ID: "x"}, Labels: map[string]string{"version": in.version}}
	var err error
	switch in.verb {
	case "create":
		_, err = c.CreateService(service)
	case "update":
		_, err = c.UpdateService(service)
	case "delete":
		err = c.DeleteService("x")
	default:
		service, err = c.GetService("x")
	}
	return service.Labels["version"], err
}

func controllerClient(c *client.Client, in operation) (string, error) {
	controller := api.ReplicationController{JSONBase: api.JSONBase{ID: "x"}, Labels: map[string]string{"version": in.version}}
	var err error
	switch in.verb {
	case "create":
		_, err = c.CreateReplicationController(controller)
	case "update":
		_, err = c.UpdateReplicationController(controller)
	case "delete":
		err = c.DeleteReplicationController("x")
	default:
		controller, err = c.GetReplicationController("x")
	}
	return controller.Labels["version"], err
}

// recordHistory lets 8 clients send requests for the object through two
// apiservers at once.
func recordHistory(t *testing.T, clients []*client.Client, ask objectClient) []porcupine.Operation {
	const workers, requests = 8, 40
	verbs := []string{"create", "read", "update", "delete", "read"}
	start := time.Now()
	var mu sync.Mutex // guards history
	var history []porcupine.Operation
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			random := rand.New(rand.NewSource(int64(w)))
			for i := range requests {
				in := operation{verb: verbs[random.Intn(len(verbs))]}
				if in.verb == "create" || in.verb == "update" {
					in.version = fmt.Sprintf("%d-%d", w, i)
				}
				called := time.Since(start)
				version, err := ask(clients[w%len(clients)], in)
				returned := time.Since(start)
				out := reply{kind: api.KindOf(err)}
				out.gaveUp = gaveUp(out.kind == api.Conflict, returned-called)
				if in.verb == "read" {
					out.version = version
				}
				assert.NotEqual(t, api.Unavailable, out.kind, "%v", err)
				mu.Lock()
				history = append(history, porcupine.Operation{ClientId: w, Input: in, Call: int64(called), Output: out, Return: int64(returned)})
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return history
}

// Concurrent requests for one object look as if they came one after the other:
// in memory, and on etcd through two apiservers.
func TestTheRequestsForOneObjectAreLinearizable(t *testing.T) {
	t.Parallel()
	for name, makeStores := range twoApiservers {
		for resource, row := range map[string]struct {
			ask   objectClient
			model porcupine.Model
		}{
			"tasks":       {taskClient, object(false)},
			"services":    {serviceClient, object(true)},
			"controllers": {controllerClient, object(true)},
		} {
			t.Run("backend="+name+", "+resource, func(t *testing.T) {
				t.Parallel()
				var clients []*client.Client
				for _, stores := range makeStores(t) {
					scheduler := registry.MakeFirstFitScheduler([]string{"127.0.0.1"}, stores.Tasks)
					server := httptest.NewServer(newHandler(stores, clienttest.FakeContainerInfo{}, scheduler, client.DefaultPrefix))
					t.Cleanup(server.Close)
					clients = append(clients, &client.Client{Host: server.URL, HTTP: server.Client()})
				}
				history := recordHistory(t, clients, row.ask)
				require.True(t, porcupine.CheckOperations(row.model, history), "%+v", history)
			})
		}
	}
}

// twoApiservers makes the registries of two apiservers on one store; in memory
// there is only one.
var twoApiservers = map[string]func(t *testing.T) []registries{
	"memory": func(*testing.T) []registries { return []registries{memoryRegistries()} },
	"etcd": func(t *testing.T) []registries {
		server := startEtcd(t)
		var both []registries
		for range 2 {
			stores, err := etcdRegistries([]string{server.URL}, nil)
			require.NoError(t, err)
			both = append(both, stores)
		}
		return both
	},
	"etcd3": func(t *testing.T) []registries {
		place := sharedEtcd3.newPlace(t)
		return []registries{place.registries(t), place.registries(t)}
	},
}

// The checker finds histories that are not linearizable.
func TestTheModelRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	op := func(verb, version string, kind api.ErrorKind, read string, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: operation{verb, version}, Output: reply{kind: kind, version: read}, Call: call, Return: ret}
	}
	for name, history := range map[string][]porcupine.Operation{
		"a lost create":                     {op("create", "1", "", "", 0, 1), op("read", "", api.NotFound, "", 2, 3)},
		"an id given twice":                 {op("create", "1", "", "", 0, 5), op("create", "2", "", "", 0, 5)},
		"a refusal without an object":       {op("create", "1", api.AlreadyExists, "", 0, 1)},
		"an old version":                    {op("create", "1", "", "", 0, 1), op("update", "2", "", "", 2, 3), op("read", "", "", "1", 4, 5)},
		"a delete that did not":             {op("create", "1", "", "", 0, 1), op("delete", "", "", "", 2, 3), op("read", "", "", "1", 4, 5)},
		"an update that is refused at once": {op("create", "1", "", "", 0, 1), op("update", "2", api.Conflict, "", 2, 3)},
		"a refusal after the deletion":      {op("create", "1", "", "", 0, 1), op("delete", "", "", "", 2, 9), op("read", "", api.NotFound, "", 3, 4), op("create", "2", api.AlreadyExists, "", 5, 6)},
	} {
		assert.False(t, porcupine.CheckOperations(object(false), history), name)
	}
}
