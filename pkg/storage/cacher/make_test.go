package cacher

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// makeTask returns a task on machine m1 that has the host ports.
func makeTask(id string, labels map[string]string, ports ...int) *api.Task {
	task := &api.Task{JSONBase: api.JSONBase{ID: id}, Labels: labels, CurrentState: api.TaskState{Host: "m1"}}
	container := api.Container{Image: "dockerfile/nginx"}
	for _, port := range ports {
		container.Ports = append(container.Ports, api.Port{HostPort: port, ContainerPort: 80})
	}
	task.DesiredState.Manifest.Containers = []api.Container{container}
	return task
}

// put writes an object to a cache as a change of its own, and returns it.
func put(t *testing.T, cache *Cache, object api.Object) *storage.Object {
	var after *storage.Object
	require.NoError(t, cache.Update(func(tx *Tx) error {
		before, version := tx.Get(object.Key()), tx.Version()+1
		created := version
		if before != nil {
			created = before.Meta().CreationVersion
		}
		after = storage.NewObject(object, version, created)
		tx.Replace(before, after, version)
		return nil
	}))
	return after
}

// firstFree returns the first of the machines on which a task's host ports are free.
func firstFree(t *testing.T, cache *Cache, task *api.Task, machines ...string) string {
	free, err := cache.FirstFree(func(send func(api.Object) bool) {
		for _, machine := range machines {
			placed := *task
			if placed.CurrentState.Host = machine; !send(&placed) {
				return
			}
		}
	})
	require.NoError(t, err)
	if free == nil {
		return ""
	}
	return free.(*api.Task).CurrentState.Host
}

// remove deletes an object from a cache as a change of its own.
func remove(t *testing.T, cache *Cache, kind api.Kind, id string) {
	require.NoError(t, cache.Update(func(tx *Tx) error {
		tx.Replace(tx.Get(api.DefaultKey(kind, id)), nil, tx.Version()+1)
		return nil
	}))
}

func idsOf(objects []*storage.Object) []string {
	ids := []string{}
	for _, object := range objects {
		ids = append(ids, object.Key().ID)
	}
	return ids
}

// service returns a service whose port is i.
func service(i int) *api.Service {
	return &api.Service{JSONBase: api.JSONBase{ID: fmt.Sprint("s", i%10)}, Port: i}
}
