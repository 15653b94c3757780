package registry

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Registry stores tasks, controllers and services in any store. It is safe for
// concurrent use (D22). The caller owns its results.
type Registry struct {
	store june2014
	// Track records that June 2014 replaces an object that has managed fields. It may be nil, and is not changed after the first request.
	Track func(before *storage.Object, next api.Object)
}

var (
	_ TaskRegistry       = (*Registry)(nil)
	_ ControllerRegistry = (*Registry)(nil)
	_ ServiceRegistry    = (*Registry)(nil)
	_ Versioned          = (*Registry)(nil)
)

// MakeRegistry returns a registry on a store.
func MakeRegistry(store storage.Interface) *Registry { return &Registry{store: june2014{store}} }

// Whole returns the store with all objects, also those that June 2014 does not see.
func (r *Registry) Whole() storage.Interface { return r.store.Interface }

// Objects implements Versioned.
func (r *Registry) Objects() storage.Interface { return r.store }

// ListTasks implements TaskRegistry.
func (r *Registry) ListTasks(query *map[string]string) ([]api.Task, error) {
	return list[api.Task](r, api.TaskKind, labelsOf(query))
}

// GetTask implements TaskRegistry.
func (r *Registry) GetTask(taskID string) (*api.Task, error) {
	return get[api.Task](r, api.TaskKind, taskID)
}

// CreateTask implements TaskRegistry. The task keeps its machine (D18).
func (r *Registry) CreateTask(machine string, task api.Task) error {
	task = task.DeepCopy()
	task.CurrentState.Host = machine
	_, err := r.store.Commit(storage.Create(&task))
	return err
}

// UpdateTask implements TaskRegistry.
func (r *Registry) UpdateTask(task api.Task) error {
	_, err := storage.GuaranteedUpdate(r.store, api.DefaultKey(api.TaskKind, task.ID), func(stored *storage.Object) (api.Object, error) {
		if stored == nil {
			return nil, api.NewNotFound(api.TaskKind, task.ID)
		}
		next := task.DeepCopy()
		before := stored.Object.(*api.Task)
		next.CurrentState, next.IsPod, next.Held = before.CurrentState, before.IsPod, before.Held
		return &next, r.keepMeta(&next, stored)
	})
	return err
}

// DeleteTask implements TaskRegistry.
func (r *Registry) DeleteTask(taskID string) error {
	_, err := r.store.Commit(storage.Delete(api.DefaultKey(api.TaskKind, taskID), storage.Present))
	return err
}

// ListControllers implements ControllerRegistry.
func (r *Registry) ListControllers() ([]api.ReplicationController, error) {
	return list[api.ReplicationController](r, api.ControllerKind, nil)
}

// GetController implements ControllerRegistry.
func (r *Registry) GetController(controllerID string) (*api.ReplicationController, error) {
	return get[api.ReplicationController](r, api.ControllerKind, controllerID)
}

// CreateController implements ControllerRegistry.
func (r *Registry) CreateController(controller api.ReplicationController) error {
	controller = controller.DeepCopy()
	_, err := r.store.Commit(storage.Create(&controller))
	return err
}

// UpdateController implements ControllerRegistry.
func (r *Registry) UpdateController(controller api.ReplicationController) error {
	return r.put(api.ControllerKind, controller.ID, func(api.Object) api.Object {
		next := controller.DeepCopy()
		return &next
	})
}

// DeleteController implements ControllerRegistry.
func (r *Registry) DeleteController(controllerID string) error {
	_, err := r.store.Commit(storage.Delete(api.DefaultKey(api.ControllerKind, controllerID), storage.Present))
	return err
}

// ListServices implements ServiceRegistry.
func (r *Registry) ListServices() (api.ServiceList, error) {
	services, err := list[api.Service](r, api.ServiceKind, nil)
	return api.ServiceList{Items: services}, err
}

// GetService implements ServiceRegistry.
func (r *Registry) GetService(name string) (*api.Service, error) {
	return get[api.Service](r, api.ServiceKind, name)
}

// CreateService implements ServiceRegistry.
func (r *Registry) CreateService(service api.Service) error {
	service = service.DeepCopy()
	_, err := r.store.Commit(storage.Create(&service))
	return err
}

// UpdateService implements ServiceRegistry.
func (r *Registry) UpdateService(service api.Service) error {
	if err := r.store.checkWrite(api.DefaultKey(api.ServiceKind, service.ID)); err != nil {
		return err
	}
	return r.put(api.ServiceKind, service.ID, func(stored api.Object) api.Object {
		next := service.DeepCopy()
		before, ok := stored.(*api.Service)
		next.SelectsNothing = len(next.Labels) == 0 && (next.SelectsNothing || ok && before.SelectsNothing)
		return &next
	})
}

// DeleteService implements ServiceRegistry.
func (r *Registry) DeleteService(name string) error {
	key := api.DefaultKey(api.ServiceKind, name)
	if r.store.checkWrite(key) != nil {
		return api.NewNotFound(key.Kind, key.ID)
	}
	_, err := r.store.Commit(storage.DeleteService(key, storage.Present)...)
	return err
}

// UpdateEndpoints implements ServiceRegistry. A service that is gone gets no
// endpoints.
func (r *Registry) UpdateEndpoints(endpoints api.Endpoints) error {
	endpoints = endpoints.DeepCopy()
	_, err := r.store.Commit(storage.Require(api.DefaultKey(api.ServiceKind, endpoints.Name)), storage.Update(&endpoints, storage.Blind))
	return err
}

// put replaces an object by a new one, or creates it; stored is nil then. The metadata
// that only the server sets stays.
func (r *Registry) put(kind api.Kind, id string, replacement func(stored api.Object) api.Object) error {
	_, err := storage.GuaranteedUpdate(r.store, api.DefaultKey(kind, id), func(stored *storage.Object) (api.Object, error) {
		if stored == nil {
			next := replacement(nil)
			return next, keepMeta(next, &api.ObjectMeta{})
		}
		next := replacement(stored.Object)
		return next, r.keepMeta(next, stored)
	})
	return err
}

// keepMeta lets an object that replaces a stored one keep its metadata.
func (r *Registry) keepMeta(next api.Object, stored *storage.Object) error {
	err := keepMeta(next, stored.Meta())
	if err == nil && r.Track != nil && len(stored.Meta().ManagedFields) > 0 {
		r.Track(stored, next)
	}
	return err
}

// keepMeta copies the metadata of the stored object, empty for none, to its successor. A successor with a version
// has passed admission: its annotations and its remainder stay, but it may replace only that version.
func keepMeta(next api.Object, stored *api.ObjectMeta) error {
	own, isStored := *next.Meta(), stored.ResourceVersion != 0
	switch {
	case own.ResourceVersion == 0:
		if isStored {
			*next.Meta() = *stored
		}
		return nil
	case own.ResourceVersion == api.ToBeCreated && !isStored:
		next.Meta().ResourceVersion = 0
		return nil
	case own.ResourceVersion == stored.ResourceVersion:
		*next.Meta() = *stored
		next.Meta().Annotations, next.Meta().Remainder = own.Annotations, own.Remainder
		return nil
	}
	return api.NewOutdated(next.Key())
}

// copier is an internal object that can be copied whole.
type copier[T any] interface{ DeepCopy() T }

func get[T copier[T]](r *Registry, kind api.Kind, id string) (*T, error) {
	object, err := r.store.Get(api.DefaultKey(kind, id))
	if err != nil {
		return nil, err
	}
	own := (*object.Object.(interface{}).(*T)).DeepCopy()
	return &own, nil
}

func list[T copier[T]](r *Registry, kind api.Kind, labels map[string]string) ([]T, error) {
	objects, err := r.store.List(storage.InDefault(kind).With(labels))
	if err != nil {
		return nil, err
	}
	own := make([]T, len(objects.Items))
	for i, object := range objects.Items {
		own[i] = (*object.Object.(interface{}).(*T)).DeepCopy()
	}
	return own, nil
}
