package registry

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

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

// clock is a clock that a test moves.
type clock struct{ time time.Time }

func (c *clock) now() time.Time { return c.time }

// unhurried makes a registry on etcd whose clock stands still: its requests have
// all the time that a slow machine takes.
func unhurried(client EtcdClient, machines ...string) *EtcdRegistry {
	registry := MakeEtcdRegistry(client, machines)
	noon := time.Date(2014, 6, 6, 12, 0, 0, 0, time.UTC)
	registry.SetClock(func() time.Time { return noon }, func(time.Duration) <-chan time.Time { return nil })
	return registry
}

// servicesAndEndpoints returns the services, and their endpoints by id.
func servicesAndEndpoints(registry ServiceRegistry) (api.ServiceList, map[string]api.Endpoints, error) {
	services, err := registry.ListServices()
	if err != nil {
		return services, nil, err
	}
	stored, err := registry.(Versioned).Objects().Cached().List(storage.Selection{Kind: api.EndpointsKind})
	if err != nil {
		return services, nil, err
	}
	endpoints := map[string]api.Endpoints{}
	for _, object := range stored.Items {
		of := object.Object.(*api.Endpoints)
		endpoints[of.Name] = api.Endpoints{Name: of.Name, Endpoints: slices.Clone(of.Endpoints)}
	}
	return services, endpoints, nil
}

// withoutMeta returns copies of objects without their metadata, which depends on
// the store.
func withoutMeta[T any](objects ...T) []T {
	for i := range objects {
		*interface{}(&objects[i]).(api.Object).Meta() = api.ObjectMeta{}
	}
	return objects
}

// answeredTask returns the task in what a storage's Get has returned.
func answeredTask(answer interface{}) api.Task {
	return *answer.(*storage.Object).Object.(*api.Task)
}
