package storage

import (
	"fmt"

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

// service returns a service whose port is i.
func service(i int) *api.Service {
	return &api.Service{JSONBase: api.JSONBase{ID: fmt.Sprint("s", i%10)}, Port: i}
}
