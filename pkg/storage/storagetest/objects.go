package storagetest

import (
	"fmt"
	"strconv"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Kinds that nobody has told the store of.
const (
	EventKind  api.Kind = "events"
	RoleKind   api.Kind = "roles"
	WidgetKind api.Kind = "widgets.example.com"
)

var kinds = []api.Kind{api.TaskKind, api.ControllerKind, api.ServiceKind, api.NodeKind, EventKind, RoleKind, WidgetKind, api.EndpointsKind}

// labelledKinds are the kinds that have labels.
var labelledKinds = kinds[:7]

// isOfToday reports whether the object with an id was made at the second door: a task is
// a pod, and of any object there is what only v1 can say.
func isOfToday(id string) bool { return id != "" && id[len(id)-1]%2 == 1 }

// object returns a new object. The mark tells the versions of an object apart.
func object(kind api.Kind, id string, mark int) api.Object { return labelled(kind, id, mark, nil) }

// labelled returns a new object that has labels, if its kind has any. A task is on machine
// m1.
func labelled(kind api.Kind, id string, mark int, labels map[string]string) api.Object {
	made := bare(kind, id, mark, labels)
	if isOfToday(id) {
		meta := made.Meta()
		meta.CreationTime = time.Date(2014, 6, 6, 12, 0, 0, mark, time.UTC)
		meta.Annotations = map[string]string{"mark": strconv.Itoa(mark)}
		meta.Remainder = api.Remainder(strconv.Itoa(mark))
	}
	return made
}

// unplaced returns the object, without a machine if it is a pod.
func unplaced(object api.Object) api.Object {
	if task, ok := object.(*api.Task); ok && task.IsPod {
		task.CurrentState.Host = ""
	}
	return object
}

func bare(kind api.Kind, id string, mark int, labels map[string]string) api.Object {
	base, onlyV1 := api.JSONBase{ID: id}, api.ObjectMeta{Remainder: api.Remainder(strconv.Itoa(mark))}
	switch kind {
	case api.TaskKind:
		return &api.Task{JSONBase: base, Labels: labels, DesiredState: api.TaskState{Status: strconv.Itoa(mark)}, CurrentState: api.TaskState{Host: "m1"}, IsPod: isOfToday(id)}
	case api.NodeKind:
		return &api.Any{Kind: kind, ID: id, ObjectMeta: onlyV1, Labels: labels}
	case EventKind, RoleKind, WidgetKind:
		onlyV1.Namespace = api.NamespaceDefault
		return &api.Any{Kind: kind, ID: id, ObjectMeta: onlyV1, Labels: labels}
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

// in returns the object in another namespace.
func in(namespace string, object api.Object) api.Object {
	object.Meta().Namespace = namespace
	return object
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
	default:
		mark, _ = strconv.Atoi(string(o.Meta().Remainder))
	}
	return mark
}

// facts are what the tests compare of an object; the zero value is for none.
type facts struct {
	kind             api.Kind
	namespace        string
	id, uid          string
	version, created uint64
	mark             int
	labels           string
	onlyV1           string // what only v1 can say of it
	isPod            bool
	machine, ports   string // of a task
}

func factsOf(object *storage.Object) facts {
	if object == nil {
		return facts{}
	}
	meta := object.Meta()
	f := facts{
		kind: object.Key().Kind, namespace: object.Key().Namespace, id: object.Key().ID, uid: api.UIDOf(object),
		version: object.Version(), created: meta.CreationVersion,
		mark: markOf(object),
	}
	if labels := object.GetLabels(); len(labels) > 0 {
		f.labels = fmt.Sprint(labels)
	}
	if meta.Remainder != "" {
		f.onlyV1 = fmt.Sprint(meta.CreationTime, meta.Annotations, meta.Remainder)
	}
	if task, ok := object.Object.(*api.Task); ok {
		f.isPod = task.IsPod
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

// allIn returns the facts of all objects of a store that are of some kinds, all if none is
// given.
func allIn(store storage.Reader, of ...api.Kind) ([]facts, error) {
	var all []facts
	if len(of) == 0 {
		of = kinds
	}
	for _, kind := range of {
		list, err := store.List(storage.Selection{Kind: kind})
		if err != nil {
			return nil, err
		}
		all = append(all, allFacts(list.Items)...)
	}
	return all, nil
}
