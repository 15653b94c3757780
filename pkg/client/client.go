// Package client has the client of the first door of the apiserver.
package client

import (
	"net/http"

	"kube2014/pkg/api"
)

// ClientInterface has the operations on the apiserver's three resources. An
// error is an *api.Error if the server refused the request, else an error of the
// transport. A list has the objects that carry all the given labels; without
// labels, all objects.
type ClientInterface interface {
	ListTasks(labels map[string]string) (api.TaskList, error)
	GetTask(id string) (api.Task, error)
	CreateTask(api.Task) (api.Task, error)
	UpdateTask(api.Task) (api.Task, error)
	DeleteTask(id string) error

	ListReplicationControllers(labels map[string]string) (api.ReplicationControllerList, error)
	GetReplicationController(id string) (api.ReplicationController, error)
	CreateReplicationController(api.ReplicationController) (api.ReplicationController, error)
	UpdateReplicationController(api.ReplicationController) (api.ReplicationController, error)
	DeleteReplicationController(id string) error

	ListServices(labels map[string]string) (api.ServiceList, error)
	GetService(id string) (api.Service, error)
	CreateService(api.Service) (api.Service, error)
	UpdateService(api.Service) (api.Service, error)
	DeleteService(id string) error
}

// DefaultPrefix is the default of the apiserver's -api_prefix.
const DefaultPrefix = "/api/v1beta1"

// Client is a client of an apiserver. It is safe for concurrent use; its fields
// must not change after the first request.
type Client struct {
	Host   string       // the server's address, like http://127.0.0.1:8080
	Prefix string       // empty: DefaultPrefix
	HTTP   *http.Client // nil: one with a timeout of 30 seconds
}

var _ ClientInterface = (*Client)(nil)

const (
	tasks       = "tasks"
	controllers = "replicationControllers"
	services    = "services"
)

func (c *Client) ListTasks(labels map[string]string) (api.TaskList, error) {
	return list[api.TaskList](c, tasks, labels)
}

func (c *Client) GetTask(id string) (api.Task, error) {
	return sendTo[api.Task](c, http.MethodGet, tasks, id, nil)
}

func (c *Client) CreateTask(task api.Task) (api.Task, error) {
	return send[api.Task](c, http.MethodPost, tasks, task)
}

func (c *Client) UpdateTask(task api.Task) (api.Task, error) {
	return sendTo[api.Task](c, http.MethodPut, tasks, task.ID, task)
}

func (c *Client) DeleteTask(id string) error {
	return c.remove(tasks, id)
}

func (c *Client) ListReplicationControllers(labels map[string]string) (api.ReplicationControllerList, error) {
	return list[api.ReplicationControllerList](c, controllers, labels)
}

func (c *Client) GetReplicationController(id string) (api.ReplicationController, error) {
	return sendTo[api.ReplicationController](c, http.MethodGet, controllers, id, nil)
}

func (c *Client) CreateReplicationController(controller api.ReplicationController) (api.ReplicationController, error) {
	return send[api.ReplicationController](c, http.MethodPost, controllers, controller)
}

func (c *Client) UpdateReplicationController(controller api.ReplicationController) (api.ReplicationController, error) {
	return sendTo[api.ReplicationController](c, http.MethodPut, controllers, controller.ID, controller)
}

func (c *Client) DeleteReplicationController(id string) error {
	return c.remove(controllers, id)
}

func (c *Client) ListServices(labels map[string]string) (api.ServiceList, error) {
	return list[api.ServiceList](c, services, labels)
}

func (c *Client) GetService(id string) (api.Service, error) {
	return sendTo[api.Service](c, http.MethodGet, services, id, nil)
}

func (c *Client) CreateService(service api.Service) (api.Service, error) {
	return send[api.Service](c, http.MethodPost, services, service)
}

func (c *Client) UpdateService(service api.Service) (api.Service, error) {
	return sendTo[api.Service](c, http.MethodPut, services, service.ID, service)
}

func (c *Client) DeleteService(id string) error {
	return c.remove(services, id)
}
