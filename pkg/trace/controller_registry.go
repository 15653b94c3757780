package trace

import (
	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

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
