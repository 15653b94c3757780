// Package registry stores tasks, replication controllers and services,
// chooses machines for tasks and keeps the endpoints of services up to date.
// It knows no HTTP.
//
// For every registry: its methods may be called concurrently; it shares no map
// or slice with its callers, who may change what they pass in and get back;
// lists are sorted by id; a missing object is an api.NotFound error, an id that
// is taken an api.AlreadyExists one, a store that cannot be reached an
// api.Unavailable one.
package registry

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// TaskRegistry stores tasks, each on one machine.
type TaskRegistry interface {
	// ListTasks returns the tasks that carry all labels of the query, all
	// tasks when it is nil. CurrentState.Host is the machine.
	ListTasks(query *map[string]string) ([]api.Task, error)
	// GetTask returns the task.
	GetTask(taskID string) (*api.Task, error)
	// CreateTask puts a task on a machine and takes its host ports there, in
	// one step: both happen or neither. When another task has one of the ports
	// the error is an api.HostPortTaken one.
	CreateTask(machine string, task api.Task) error
	// UpdateTask replaces a task but keeps its CurrentState, and so its
	// machine. When it wants a host port that another task has there, the
	// error is an api.HostPortTaken one.
	UpdateTask(task api.Task) error
	// DeleteTask removes a task and frees its host ports.
	DeleteTask(taskID string) error
}

// ControllerRegistry stores replication controllers.
type ControllerRegistry interface {
	// ListControllers returns all controllers.
	ListControllers() ([]api.ReplicationController, error)
	// GetController returns the controller.
	GetController(controllerID string) (*api.ReplicationController, error)
	// CreateController stores a controller under an id that is free.
	CreateController(controller api.ReplicationController) error
	// UpdateController replaces a controller, or creates it.
	UpdateController(controller api.ReplicationController) error
	// DeleteController removes a controller.
	DeleteController(controllerID string) error
}

// ServiceRegistry stores services and their endpoints.
type ServiceRegistry interface {
	// ListServices returns all services.
	ListServices() (api.ServiceList, error)
	// GetService returns the service.
	GetService(name string) (*api.Service, error)
	// CreateService stores a service under an id that is free.
	CreateService(service api.Service) error
	// UpdateService replaces a service, or creates it.
	UpdateService(service api.Service) error
	// DeleteService removes a service and its endpoints, if it has any.
	DeleteService(name string) error
	// UpdateEndpoints replaces the endpoints of a service.
	UpdateEndpoints(endpoints api.Endpoints) error
}

// Versioned is implemented by all registries.
type Versioned interface {
	// Objects returns the store of the registry, whose objects have versions and cached JSON.
	Objects() storage.Interface
}
