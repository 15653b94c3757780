package storage

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
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
func put(t *testing.T, cache *Cache, object api.Object) *Object {
	var after *Object
	require.NoError(t, cache.Update(func(tx *Tx) error {
		before, version := tx.Get(object.GetKind(), object.GetID()), tx.Version()+1
		created := version
		if before != nil {
			created = before.Meta().CreationVersion
		}
		after = NewObject(object, version, created)
		tx.Replace(before, after, version)
		return nil
	}))
	return after
}

// remove deletes an object from a cache as a change of its own.
func remove(t *testing.T, cache *Cache, kind api.Kind, id string) {
	require.NoError(t, cache.Update(func(tx *Tx) error {
		tx.Replace(tx.Get(kind, id), nil, tx.Version()+1)
		return nil
	}))
}

func idsOf(objects []*Object) []string {
	ids := []string{}
	for _, object := range objects {
		ids = append(ids, object.GetID())
	}
	return ids
}

// service returns a service whose port is i.
func service(i int) *api.Service {
	return &api.Service{JSONBase: api.JSONBase{ID: fmt.Sprint("s", i%10)}, Port: i}
}
