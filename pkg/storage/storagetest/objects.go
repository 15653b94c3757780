package storagetest

import (
	"fmt"
	"strconv"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var kinds = []api.Kind{api.TaskKind, api.ControllerKind, api.ServiceKind, api.EndpointsKind}

// labelledKinds are the kinds that have labels.
var labelledKinds = kinds[:3]

// object returns a new object. The mark tells the versions of an object apart.
func object(kind api.Kind, id string, mark int) api.Object { return labelled(kind, id, mark, nil) }

// labelled returns a new object that has labels, if its kind has any.
func labelled(kind api.Kind, id string, mark int, labels map[string]string) api.Object {
	base := api.JSONBase{ID: id}
	switch kind {
	case api.TaskKind:
		return &api.Task{JSONBase: base, Labels: labels, DesiredState: api.TaskState{Status: strconv.Itoa(mark)}, CurrentState: api.TaskState{Host: "m1"}}
	case api.ControllerKind:
		return &api.ReplicationController{JSONBase: base, Labels: labels, DesiredState: api.ReplicationControllerState{Replicas: mark}}
	case api.ServiceKind:
		return &api.Service{JSONBase: base, Labels: labels, Port: mark}
	}
	return &api.Endpoints{Name: id, Endpoints: []string{strconv.Itoa(mark)}}
}

// taskOn returns a task on a machine with host ports, each of another container.
func taskOn(id, machine string, ports ...int) *api.Task {
	task := object(api.TaskKind, id, 0).(*api.Task)
	task.CurrentState.Host = machine
	for _, port := range ports {
		task.DesiredState.Manifest.Containers = append(task.DesiredState.Manifest.Containers,
			api.Container{Name: fmt.Sprint("c", port), Ports: []api.Port{{HostPort: port, ContainerPort: 80}}})
	}
	return task
}

func markOf(object *storage.Object) int {
	mark := -1
	switch o := object.Object.(type) {
	case *api.Task:
		mark, _ = strconv.Atoi(o.DesiredState.Status)
	case *api.ReplicationController:
		mark = o.DesiredState.Replicas
	case *api.Service:
		mark = o.Port
	case *api.Endpoints:
		mark, _ = strconv.Atoi(o.Endpoints[0])
	}
	return mark
}

// facts are what the tests compare of an object; the zero value is for none.
type facts struct {
	kind             api.Kind
	id, uid          string
	version, created uint64
	mark             int
	labels           string
	machine, ports   string // of a task
}

func factsOf(object *storage.Object) facts {
	if object == nil {
		return facts{}
	}
	meta := object.Meta()
	f := facts{
		kind: object.GetKind(), id: object.GetID(), uid: api.UIDOf(object),
		version: object.Version(), created: meta.CreationVersion,
		mark: markOf(object),
	}
	if labels := object.GetLabels(); len(labels) > 0 {
		f.labels = fmt.Sprint(labels)
	}
	if task, ok := object.Object.(*api.Task); ok {
		f.machine = task.CurrentState.Host
		if ports := task.HostPorts(); len(ports) > 0 {
			f.ports = fmt.Sprint(ports)
		}
	}
	return f
}

func allFacts(objects []*storage.Object) []facts {
	all := []facts{}
	for _, object := range objects {
		all = append(all, factsOf(object))
	}
	return all
}

// allIn returns the facts of all objects of a store.
func allIn(store storage.Reader) ([]facts, error) {
	var all []facts
	for _, kind := range kinds {
		list, err := store.List(kind, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, allFacts(list.Items)...)
	}
	return all, nil
}
