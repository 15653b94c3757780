package etcd2_test

import (
	"fmt"
	"math/rand"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
)

// The keys of docs/etcd.md, and one that never exists.
const (
	registryKey    = "/registry"
	hostsKey       = "/registry/hosts"
	controllersKey = "/registry/controllers"
	servicesKey    = "/registry/services"
	specsKey       = "/registry/services/specs"
	endpointsKey   = "/registry/services/endpoints"
	podsKey        = "/registry/pods"
	indexKey       = "/registry/_tasks"
	syncKey        = "/registry/_sync"
)

func hostKey(machine string) string            { return hostsKey + "/" + machine }
func kubeletKey(machine string) string         { return hostKey(machine) + "/kubelet" }
func tasksKey(machine string) string           { return hostKey(machine) + "/tasks" }
func taskKey(machine, taskID string) string    { return tasksKey(machine) + "/" + taskID }
func podKey(podID string) string               { return podsKey + "/" + podID }
func indexEntryKey(taskID string) string       { return indexKey + "/" + taskID }
func controllerKey(controllerID string) string { return controllersKey + "/" + controllerID }
func specKey(serviceID string) string          { return specsKey + "/" + serviceID }
func endpointKey(serviceID string) string      { return endpointsKey + "/" + serviceID }

// etcdRegistry is one apiserver's registry, with its store.
type etcdRegistry struct {
	*registry.EtcdRegistry
	store *etcd2.Store
}

// makeRegistry makes a registry on etcd that has the system's clock.
func makeRegistry(client etcd2.Client) *etcdRegistry {
	onEtcd := registry.MakeEtcdRegistry(client, nil)
	return &etcdRegistry{onEtcd, onEtcd.Whole().(*etcd2.Store)}
}

// unhurried makes a registry on etcd whose clock stands still: its requests have
// all the time that a slow machine takes.
func unhurried(client etcd2.Client) *etcdRegistry {
	made := makeRegistry(client)
	noon := time.Date(2014, 6, 6, 12, 0, 0, 0, time.UTC)
	made.SetClock(func() time.Time { return noon }, func(time.Duration) <-chan time.Time { return nil })
	return made
}

// clock is a clock that a test moves.
type clock struct{ time time.Time }

func (c *clock) now() time.Time { return c.time }

// patientless makes a registry with a test clock. When it waits for other
// requests, it only moves that clock.
func patientless(client etcd2.Client) (*etcdRegistry, *clock) {
	made, c := makeRegistry(client), &clock{time.Unix(1_400_000_000, 0)}
	made.store.SetSleep(c.now, func(wait time.Duration) { c.time = c.time.Add(wait) })
	return made, c
}

// onClockOf is like patientless, with the clock of another registry.
func onClockOf(other *etcdRegistry, client etcd2.Client) *etcdRegistry {
	made := makeRegistry(client)
	made.store.SetSleep(other.store.Now, other.store.Sleep)
	return made
}

// client returns the client of a registry.
func (r *etcdRegistry) client() etcdtest.Client { return r.store.Client() }

// services returns the stored services, and the endpoints by the id of their service.
func (r *etcdRegistry) servicesAndEndpoints(t *testing.T) ([]api.Service, map[string]api.Endpoints) {
	services, err := r.ListServices()
	require.NoError(t, err)
	list, err := r.store.List(storage.Selection{Kind: api.EndpointsKind})
	require.NoError(t, err)
	endpoints := map[string]api.Endpoints{}
	for _, object := range list.Items {
		of := *object.Object.(*api.Endpoints)
		endpoints[of.Name] = api.Endpoints{Name: of.Name, Endpoints: of.Endpoints}
	}
	return services.Items, endpoints
}

// restStorage is what the tests use of an apiserver.RESTStorage.
type restStorage interface {
	List(*url.URL) (interface{}, error)
	Get(id string) (interface{}, error)
	Create(object interface{}) error
	Update(object interface{}) error
	Delete(id string) error
}

// patient is a storage of tasks whose client repeats a POST that was not placed in
// time: the machine that runs the test may be slow.
type patient struct{ restStorage }

func (p patient) Create(object interface{}) error {
	for {
		if err := p.restStorage.Create(object); api.KindOf(err) != api.Unavailable {
			return err
		}
	}
}

// storageOf returns a storage of tasks with a scheduler.
func storageOf(tasks registry.TaskRegistry, scheduler registry.Scheduler) restStorage {
	return registry.MakeTaskRegistryStorage(tasks, clienttest.FakeContainerInfo{}, scheduler)
}

// taskStorage returns a storage of tasks on the machines m1 and m2.
func taskStorage(tasks registry.TaskRegistry) restStorage {
	return storageOf(tasks, registry.MakeFirstFitScheduler([]string{"m1", "m2"}, tasks))
}

// schedulersOver makes one scheduler of each kind.
func schedulersOver(machines []string, tasks registry.TaskRegistry) map[string]registry.Scheduler {
	atRandom := registry.MakeRandomScheduler(machines, *rand.New(rand.NewSource(1)))
	atRandom.(*registry.RandomScheduler).Registry = tasks
	inTurn := registry.MakeRoundRobinScheduler(machines)
	inTurn.(*registry.RoundRobinScheduler).Registry = tasks
	return map[string]registry.Scheduler{
		"first fit":   registry.MakeFirstFitScheduler(machines, tasks),
		"random":      atRandom,
		"round robin": inTurn,
	}
}

// storages returns the storages of controllers and of services.
func (r *etcdRegistry) storages() (controllers, services restStorage) {
	return registry.MakeControllerRegistryStorage(r), registry.MakeServiceRegistryStorage(r)
}

func syncEndpoints(r *etcdRegistry) error {
	return registry.MakeEndpointController(r, r).SyncServiceEndpoints()
}

// makeTask returns a task with one container that has the host ports.
func makeTask(id string, ports ...int) api.Task {
	container := api.Container{Image: "dockerfile/nginx"}
	for _, port := range ports {
		container.Ports = append(container.Ports, api.Port{HostPort: port, ContainerPort: 80})
	}
	task := api.Task{JSONBase: api.JSONBase{ID: id}}
	task.DesiredState.Manifest.Containers = []api.Container{container}
	return task
}

func labelled(task api.Task, labels map[string]string) api.Task {
	task.Labels = labels
	return task
}

func on(host string, task api.Task) api.Task {
	task.CurrentState.Host = host
	return task
}

// asPod returns a task as it is made at the second door.
func asPod(task api.Task) api.Task {
	task.IsPod = true
	return task
}

// bare returns a copy of a task without its metadata, which depends on when it was
// written.
func bare(task *api.Task) *api.Task {
	if task == nil {
		return nil
	}
	without := *task
	without.ObjectMeta = api.ObjectMeta{}
	return &without
}

func bareTasks(tasks []api.Task) []api.Task {
	without := []api.Task{}
	for _, task := range tasks {
		without = append(without, *bare(&task))
	}
	return without
}

func makeController(id string, replicas int) api.ReplicationController {
	return api.ReplicationController{
		JSONBase:     api.JSONBase{ID: id},
		DesiredState: api.ReplicationControllerState{Replicas: replicas, ReplicasInSet: map[string]string{"name": id}},
		Labels:       map[string]string{"name": id},
	}
}

func makeService(id string, port int) api.Service {
	return api.Service{JSONBase: api.JSONBase{ID: id}, Port: port, Labels: map[string]string{"name": id}}
}

func selecting(id string, labels map[string]string) api.Service {
	return api.Service{JSONBase: api.JSONBase{ID: id}, Port: 1, Labels: labels}
}

func taskIDs(tasks []api.Task) []string {
	ids := []string{}
	for _, task := range tasks {
		ids = append(ids, task.ID)
	}
	return ids
}

func machineNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("machine-%03d", i))
	}
	return names
}

func requireKind(t *testing.T, kind api.ErrorKind, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, kind, api.KindOf(err), err.Error())
}
