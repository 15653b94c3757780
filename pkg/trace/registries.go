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

// ControllerRegistry traces a controller registry.
func (t *Tracer) ControllerRegistry(next registry.ControllerRegistry) registry.ControllerRegistry {
	return controllerRegistry{t, next}
}

type controllerRegistry struct {
	t    *Tracer
	next registry.ControllerRegistry
}

// Objects implements registry.Versioned.
func (r controllerRegistry) Objects() storage.Interface { return r.next.(registry.Versioned).Objects() }

func (r controllerRegistry) ListControllers() ([]api.ReplicationController, error) {
	return ask(r.t, called(r.next, "ListControllers"), func(controllers []api.ReplicationController) string { return words(controllers) },
		r.next.ListControllers)
}

func (r controllerRegistry) GetController(controllerID string) (*api.ReplicationController, error) {
	return ask(r.t, called(r.next, "GetController", api.Quote(controllerID)), func(controller *api.ReplicationController) string { return words(controller) },
		func() (*api.ReplicationController, error) { return r.next.GetController(controllerID) })
}

func (r controllerRegistry) CreateController(controller api.ReplicationController) error {
	return r.t.write(called(r.next, "CreateController", words(controller)), func() error { return r.next.CreateController(controller) })
}

func (r controllerRegistry) UpdateController(controller api.ReplicationController) error {
	return r.t.write(called(r.next, "UpdateController", words(controller)), func() error { return r.next.UpdateController(controller) })
}

func (r controllerRegistry) DeleteController(controllerID string) error {
	return r.t.write(called(r.next, "DeleteController", api.Quote(controllerID)), func() error { return r.next.DeleteController(controllerID) })
}

// ServiceRegistry traces a service registry.
func (t *Tracer) ServiceRegistry(next registry.ServiceRegistry) registry.ServiceRegistry {
	return serviceRegistry{t, next}
}

type serviceRegistry struct {
	t    *Tracer
	next registry.ServiceRegistry
}

// Objects implements registry.Versioned.
func (r serviceRegistry) Objects() storage.Interface { return r.next.(registry.Versioned).Objects() }

func (r serviceRegistry) ListServices() (api.ServiceList, error) {
	return ask(r.t, called(r.next, "ListServices"), func(services api.ServiceList) string { return words(services) }, r.next.ListServices)
}

func (r serviceRegistry) GetService(name string) (*api.Service, error) {
	return ask(r.t, called(r.next, "GetService", api.Quote(name)), func(service *api.Service) string { return words(service) },
		func() (*api.Service, error) { return r.next.GetService(name) })
}

func (r serviceRegistry) CreateService(service api.Service) error {
	return r.t.write(called(r.next, "CreateService", words(service)), func() error { return r.next.CreateService(service) })
}

func (r serviceRegistry) UpdateService(service api.Service) error {
	return r.t.write(called(r.next, "UpdateService", words(service)), func() error { return r.next.UpdateService(service) })
}

func (r serviceRegistry) DeleteService(name string) error {
	return r.t.write(called(r.next, "DeleteService", api.Quote(name)), func() error { return r.next.DeleteService(name) })
}

func (r serviceRegistry) UpdateEndpoints(endpoints api.Endpoints) error {
	return r.t.write(called(r.next, "UpdateEndpoints", words(endpoints)), func() error { return r.next.UpdateEndpoints(endpoints) })
}
