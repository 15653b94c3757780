package trace

import (
	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

// TaskRegistry traces a task registry.
func (t *Tracer) TaskRegistry(next registry.TaskRegistry) registry.TaskRegistry {
	return taskRegistry{t, next}
}

type taskRegistry struct {
	t    *Tracer
	next registry.TaskRegistry
}

// Objects implements registry.Versioned.
func (r taskRegistry) Objects() storage.Interface { return r.next.(registry.Versioned).Objects() }

func (r taskRegistry) ListTasks(query *map[string]string) ([]api.Task, error) {
	var asked map[string]string
	if query != nil {
		asked = *query
	}
	return ask(r.t, called(r.next, "ListTasks", labels(asked)), func(tasks []api.Task) string { return words(tasks) },
		func() ([]api.Task, error) { return r.next.ListTasks(query) })
}

func (r taskRegistry) GetTask(taskID string) (*api.Task, error) {
	return ask(r.t, called(r.next, "GetTask", api.Quote(taskID)), func(task *api.Task) string { return words(task) },
		func() (*api.Task, error) { return r.next.GetTask(taskID) })
}

func (r taskRegistry) CreateTask(machine string, task api.Task) error {
	return r.t.write(called(r.next, "CreateTask", cut(machine, maxValue), words(task)), func() error { return r.next.CreateTask(machine, task) })
}

func (r taskRegistry) UpdateTask(task api.Task) error {
	return r.t.write(called(r.next, "UpdateTask", words(task)), func() error { return r.next.UpdateTask(task) })
}

func (r taskRegistry) DeleteTask(taskID string) error {
	return r.t.write(called(r.next, "DeleteTask", api.Quote(taskID)), func() error { return r.next.DeleteTask(taskID) })
}
