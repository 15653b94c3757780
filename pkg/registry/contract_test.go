package registry

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage/storagetest"
)

// backend is one kind of registry, empty.
type backend interface {
	TaskRegistry
	ControllerRegistry
	ServiceRegistry
}

// backends makes a registry of each kind. The promises of interfaces.go are
// tested on all of them.
var backends = map[string]func(t *testing.T) backend{
	"memory": func(*testing.T) backend { return MakeMemoryRegistry() },
	"fake":   func(*testing.T) backend { return unhurried(etcdtest.NewFake()) },
	"etcd":   func(t *testing.T) backend { return unhurried(etcdtest.Shared(t, etcd.New)) },
}

func onEachBackend(t *testing.T, test func(t *testing.T, registry backend)) {
	t.Parallel()
	for name, makeBackend := range backends {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			test(t, makeBackend(t))
		})
	}
}

// D18: the machine is kept.
func TestD18ATaskIsFoundOnItsMachine(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		task := makeTask("web", 8080)
		require.NoError(t, registry.CreateTask("m1", task))
		got, err := registry.GetTask("web")
		require.NoError(t, err)
		assert.Equal(t, []api.Task{on("m1", task)}, withoutMeta(*got))
		list, err := registry.ListTasks(nil)
		require.NoError(t, err)
		assert.Equal(t, []api.Task{on("m1", task)}, withoutMeta(list...))
	})
}

// D3: what is missing is a typed error, never nil, nil.
func TestD3WhatIsMissingIsNotFound(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		task, err := registry.GetTask("nope")
		requireKind(t, api.NotFound, err)
		assert.Nil(t, task)
		assert.EqualError(t, err, `task "nope" does not exist`)
		controller, err := registry.GetController("nope")
		requireKind(t, api.NotFound, err)
		assert.Nil(t, controller)
		service, err := registry.GetService("nope")
		requireKind(t, api.NotFound, err)
		assert.Nil(t, service)

		requireKind(t, api.NotFound, registry.DeleteTask("nope"))
		requireKind(t, api.NotFound, registry.DeleteController("nope"))
		requireKind(t, api.NotFound, registry.DeleteService("nope"))
	})
}

// D6: an id that is taken is refused, and its object does not change.
func TestD6AnIDThatIsTakenIsRefused(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		require.NoError(t, registry.CreateTask("m1", makeTask("x", 1)))
		requireKind(t, api.AlreadyExists, registry.CreateTask("m1", makeTask("x", 2)))
		requireKind(t, api.AlreadyExists, registry.CreateTask("m2", makeTask("x", 1)))
		task, err := registry.GetTask("x")
		require.NoError(t, err)
		assert.Equal(t, []api.Task{on("m1", makeTask("x", 1))}, withoutMeta(*task))
		require.NoError(t, registry.CreateTask("m1", makeTask("y", 2)), "the refused task took no host port")

		require.NoError(t, registry.CreateController(makeController("x", 1)))
		requireKind(t, api.AlreadyExists, registry.CreateController(makeController("x", 2)))
		controller, err := registry.GetController("x")
		require.NoError(t, err)
		assert.Equal(t, makeController("x", 1), withoutMeta(*controller)[0])

		require.NoError(t, registry.CreateService(makeService("x", 1)))
		requireKind(t, api.AlreadyExists, registry.CreateService(makeService("x", 2)))
		service, err := registry.GetService("x")
		require.NoError(t, err)
		assert.Equal(t, makeService("x", 1), withoutMeta(*service)[0])
	})
}

// D28: lists are sorted by id.
func TestD28ListsAreSortedByID(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		ids := []string{"b", "a.c", "B", "a-c", "9", "a", "10"}
		sorted := []string{"10", "9", "B", "a", "a-c", "a.c", "b"}
		for i, id := range ids {
			require.NoError(t, registry.CreateTask(fmt.Sprintf("m%d", i%2), makeTask(id)))
			require.NoError(t, registry.CreateController(makeController(id, 1)))
			require.NoError(t, registry.CreateService(makeService(id, 1)))
		}
		tasks, err := registry.ListTasks(nil)
		require.NoError(t, err)
		assert.Equal(t, sorted, taskIDs(tasks))
		controllers, err := registry.ListControllers()
		require.NoError(t, err)
		services, err := registry.ListServices()
		require.NoError(t, err)
		for i, id := range sorted {
			assert.Equal(t, id, controllers[i].ID)
			assert.Equal(t, id, services.Items[i].ID)
		}
	})
}

func TestEmptyListsAreNotNull(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		tasks, err := registry.ListTasks(nil)
		require.NoError(t, err)
		assert.Equal(t, []api.Task{}, tasks)
		controllers, err := registry.ListControllers()
		require.NoError(t, err)
		assert.Equal(t, []api.ReplicationController{}, controllers)
		services, endpoints, err := servicesAndEndpoints(registry)
		require.NoError(t, err)
		assert.Equal(t, []api.Service{}, services.Items)
		assert.Empty(t, endpoints)
	})
}

func TestTasksAreFoundByAllLabelsOfAQuery(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		require.NoError(t, registry.CreateTask("m", labelled(makeTask("a"), map[string]string{"name": "web", "tier": "front"})))
		require.NoError(t, registry.CreateTask("m", labelled(makeTask("b"), map[string]string{"name": "web"})))
		require.NoError(t, registry.CreateTask("m", makeTask("c")))
		for name, row := range map[string]struct {
			query *map[string]string
			want  []string
		}{
			"no query":                   {nil, []string{"a", "b", "c"}},
			"an empty query":             {&map[string]string{}, []string{"a", "b", "c"}},
			"one label":                  {&map[string]string{"name": "web"}, []string{"a", "b"}},
			"two labels":                 {&map[string]string{"name": "web", "tier": "front"}, []string{"a"}},
			"another value":              {&map[string]string{"name": "db"}, []string{}},
			"an empty value is no match": {&map[string]string{"other": ""}, []string{}},
		} {
			tasks, err := registry.ListTasks(row.query)
			require.NoError(t, err, name)
			assert.Equal(t, row.want, taskIDs(tasks), name)
		}
	})
}

func TestAHostPortIsGivenOncePerMachine(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		require.NoError(t, registry.CreateTask("m1", makeTask("a", 80, 81)))
		err := registry.CreateTask("m1", makeTask("b", 82, 81))
		requireKind(t, api.HostPortTaken, err)
		assert.EqualError(t, err, `task "b" needs host port 81, but on machine m1 task "a" has it`)
		require.NoError(t, registry.CreateTask("m2", makeTask("b", 82, 81)))
		require.NoError(t, registry.CreateTask("m1", makeTask("c", 82)), "the refused task took nothing")
		require.NoError(t, registry.DeleteTask("a"))
		require.NoError(t, registry.CreateTask("m1", makeTask("d", 80, 81)), "a deleted task gives its ports back")
	})
}

// D19: tasks without a host port do not collide.
func TestD19TasksWithoutHostPortNeverCollide(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		require.NoError(t, registry.CreateTask("m", makeTask("a", 0)))
		require.NoError(t, registry.CreateTask("m", makeTask("b", 0)))
		require.NoError(t, registry.CreateTask("m", makeTask("c")))
	})
}

// D12: a task that is replaced stays on its machine.
func TestD12ATaskIsReplacedInItsPlace(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		require.NoError(t, registry.CreateTask("m1", makeTask("a", 80)))
		require.NoError(t, registry.CreateTask("m1", makeTask("b", 81)))

		changed := on("elsewhere", labelled(makeTask("a", 80, 82), map[string]string{"rev": "2"}))
		require.NoError(t, registry.UpdateTask(changed))
		got, err := registry.GetTask("a")
		require.NoError(t, err)
		assert.Equal(t, []api.Task{on("m1", changed)}, withoutMeta(*got), "CurrentState is kept")

		requireKind(t, api.HostPortTaken, registry.UpdateTask(makeTask("a", 81)))
		got, err = registry.GetTask("a")
		require.NoError(t, err)
		assert.Equal(t, []api.Task{on("m1", changed)}, withoutMeta(*got), "a refused update changes nothing")

		require.NoError(t, registry.UpdateTask(makeTask("a", 83)))
		require.NoError(t, registry.CreateTask("m1", makeTask("c", 80, 82)), "the replaced ports are free")
		requireKind(t, api.HostPortTaken, registry.CreateTask("m1", makeTask("d", 83)))
		requireKind(t, api.NotFound, registry.UpdateTask(makeTask("nope")))
	})
}

func TestControllersAndServicesAreReplacedOrCreated(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		for _, n := range []int{1, 2} {
			require.NoError(t, registry.UpdateController(makeController("c", n)))
			controller, err := registry.GetController("c")
			require.NoError(t, err)
			assert.Equal(t, makeController("c", n), withoutMeta(*controller)[0])
			require.NoError(t, registry.UpdateService(makeService("s", n)))
			service, err := registry.GetService("s")
			require.NoError(t, err)
			assert.Equal(t, makeService("s", n), withoutMeta(*service)[0])
		}
		require.NoError(t, registry.DeleteController("c"))
		_, err := registry.GetController("c")
		requireKind(t, api.NotFound, err)
	})
}

// D14: a service is deleted with its endpoints, if it has any.
func TestD14AServiceIsDeletedWithItsEndpoints(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		require.NoError(t, registry.CreateService(makeService("bare", 1)))
		require.NoError(t, registry.CreateService(makeService("full", 1)))
		full := api.Endpoints{Name: "full", Endpoints: []string{"m:80"}}
		require.NoError(t, registry.UpdateEndpoints(full))
		services, endpoints, err := servicesAndEndpoints(registry)
		require.NoError(t, err)
		assert.Len(t, services.Items, 2)
		assert.Equal(t, map[string]api.Endpoints{"full": full}, endpoints)

		endpoints["full"].Endpoints[0] = "changed"
		require.NoError(t, registry.DeleteService("bare"))
		require.NoError(t, registry.DeleteService("full"))
		require.NoError(t, registry.CreateService(makeService("full", 1)))
		_, endpoints, err = servicesAndEndpoints(registry)
		require.NoError(t, err)
		assert.Empty(t, endpoints)
	})
}

func TestNothingIsSharedWithCallers(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		task := labelled(makeTask("x", 80), map[string]string{"name": "web"})
		controller, service := makeController("x", 1), makeService("x", 1)
		endpoints := api.Endpoints{Name: "x", Endpoints: []string{"m:1"}}
		require.NoError(t, registry.CreateTask("m", task))
		require.NoError(t, registry.CreateController(controller))
		require.NoError(t, registry.CreateService(service))
		require.NoError(t, registry.UpdateEndpoints(endpoints))
		snapshot := func() []interface{} {
			gotTask, err := registry.GetTask("x")
			require.NoError(t, err)
			tasks, err := registry.ListTasks(nil)
			require.NoError(t, err)
			gotController, err := registry.GetController("x")
			require.NoError(t, err)
			controllers, err := registry.ListControllers()
			require.NoError(t, err)
			gotService, err := registry.GetService("x")
			require.NoError(t, err)
			services, known, err := servicesAndEndpoints(registry)
			require.NoError(t, err)
			return []interface{}{gotTask, tasks, gotController, controllers, gotService, services, known}
		}
		before, changed := snapshot(), snapshot()

		for _, given := range []api.Task{task, *changed[0].(*api.Task), changed[1].([]api.Task)[0]} {
			given.Labels["name"] = "changed"
			given.DesiredState.Manifest.Containers[0].Ports[0].HostPort = 1
		}
		for _, given := range []api.ReplicationController{controller, *changed[2].(*api.ReplicationController), changed[3].([]api.ReplicationController)[0]} {
			given.Labels["name"] = "changed"
			given.DesiredState.ReplicasInSet["name"] = "changed"
		}
		for _, given := range []api.Service{service, *changed[4].(*api.Service), changed[5].(api.ServiceList).Items[0]} {
			given.Labels["name"] = "changed"
		}
		endpoints.Endpoints[0] = "changed"
		changed[6].(map[string]api.Endpoints)["x"].Endpoints[0] = "changed"

		assert.Equal(t, before, snapshot())
	})
}

// D6: of many concurrent creates of one id exactly one wins.
func TestD6OfManyCreatesOfOneIDOneWins(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		creates := map[string]func(i int) error{
			"task":       func(i int) error { return registry.CreateTask(fmt.Sprintf("m%d", i), makeTask("x", i)) },
			"controller": func(i int) error { return registry.CreateController(makeController("x", i)) },
			"service":    func(i int) error { return registry.CreateService(makeService("x", i)) },
		}
		for name, create := range creates {
			var won atomic.Int32
			var group sync.WaitGroup
			for i := range 32 {
				group.Go(func() {
					if err := create(i); err == nil {
						won.Add(1)
					} else {
						assert.Equal(t, api.AlreadyExists, api.KindOf(err))
					}
				})
			}
			group.Wait()
			assert.EqualValues(t, 1, won.Load(), name)
		}
	})
}

// D22: every method from many goroutines at once.
func TestD22ARegistryIsSafeForConcurrentUse(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		var group sync.WaitGroup
		for i := range 16 {
			own, shared := fmt.Sprintf("own-%d", i), fmt.Sprintf("shared-%d", i%4)
			calm := func(err error, expected ...api.ErrorKind) {
				if err != nil {
					assert.Contains(t, expected, api.KindOf(err), err.Error())
				}
			}
			group.Go(func() {
				for range 5 {
					for _, id := range []string{own, shared} {
						calm(registry.CreateTask("m", makeTask(id, 1000+i)), api.AlreadyExists, api.HostPortTaken)
						calm(registry.UpdateTask(makeTask(id, 2000+i)), api.NotFound, api.HostPortTaken)
						_, err := registry.GetTask(id)
						calm(err, api.NotFound)
						_, err = registry.ListTasks(&map[string]string{})
						calm(err)
						calm(registry.CreateController(makeController(id, i)), api.AlreadyExists)
						calm(registry.UpdateController(makeController(id, i)))
						_, err = registry.GetController(id)
						calm(err, api.NotFound)
						_, err = registry.ListControllers()
						calm(err)
						calm(registry.CreateService(makeService(id, i)), api.AlreadyExists)
						calm(registry.UpdateService(makeService(id, i)))
						calm(registry.UpdateEndpoints(api.Endpoints{Name: id}), api.NotFound)
						_, err = registry.GetService(id)
						calm(err, api.NotFound)
						_, err = registry.ListServices()
						calm(err)
						_, _, err = servicesAndEndpoints(registry)
						calm(err)
						_, err = registry.(Versioned).Objects().FirstFree(storagetest.OnEach([]string{"m"}, makeTask("x", 1000+i)))
						calm(err)
						calm(registry.DeleteTask(id), api.NotFound)
						calm(registry.DeleteController(id), api.NotFound)
						calm(registry.DeleteService(id), api.NotFound)
					}
				}
			})
		}
		group.Wait()
		tasks, err := registry.ListTasks(nil)
		require.NoError(t, err)
		for _, id := range taskIDs(tasks) {
			assert.True(t, strings.HasPrefix(id, "shared-"), "its creator deleted %s", id)
			require.NoError(t, registry.DeleteTask(id))
		}
		for port := range 16 {
			require.NoError(t, registry.CreateTask("m", makeTask(fmt.Sprintf("last-%d", port), 1000+port, 2000+port)), "all ports are free again")
		}
	})
}
