package kube2014

import (
	"flag"
	"math/rand"
	"net/http"
	"net/url"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/client"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/client/kubeletclient"
	"kube2014/pkg/registry"
	"kube2014/pkg/util"
)

// The names and signatures of the original. The compiler compares them with
// ours: if they differ, this does not build.

// The original's interfaces, method for method.
type (
	restStorage interface {
		List(*url.URL) (interface{}, error)
		Get(id string) (interface{}, error)
		Delete(id string) error
		Extract(body string) (interface{}, error)
		Create(interface{}) error
		Update(interface{}) error
	}
	taskRegistry interface {
		ListTasks(query *map[string]string) ([]api.Task, error)
		GetTask(taskID string) (*api.Task, error)
		CreateTask(machine string, task api.Task) error
		UpdateTask(task api.Task) error
		DeleteTask(taskID string) error
	}
	controllerRegistry interface {
		ListControllers() ([]api.ReplicationController, error)
		GetController(controllerID string) (*api.ReplicationController, error)
		CreateController(controller api.ReplicationController) error
		UpdateController(controller api.ReplicationController) error
		DeleteController(controllerID string) error
	}
	serviceRegistry interface {
		ListServices() (api.ServiceList, error)
		GetService(name string) (*api.Service, error)
		CreateService(svc api.Service) error
		UpdateService(svc api.Service) error
		DeleteService(name string) error
		UpdateEndpoints(e api.Endpoints) error
	}
	scheduler interface {
		Schedule(api.Task) (string, error)
	}
	manifestFactory interface {
		MakeManifest(machine string, task api.Task) (api.ContainerManifest, error)
	}
	containerInfo interface {
		GetContainerInfo(host, name string) (interface{}, error)
	}
	etcdClient interface {
		AddChild(key, data string, ttl uint64) (*etcd.Response, error)
		Get(key string, sort, recursive bool) (*etcd.Response, error)
		Set(key, value string, ttl uint64) (*etcd.Response, error)
		Create(key, value string, ttl uint64) (*etcd.Response, error)
		Delete(key string, recursive bool) (*etcd.Response, error)
		Watch(prefix string, waitIndex uint64, recursive bool, receiver chan *etcd.Response, stop chan bool) (*etcd.Response, error)
	}
)

// Ours have these methods, and no others.
var (
	_ = (*restStorage)((*apiserver.RESTStorage)(nil))
	_ = (*taskRegistry)((*registry.TaskRegistry)(nil))
	_ = (*controllerRegistry)((*registry.ControllerRegistry)(nil))
	_ = (*serviceRegistry)((*registry.ServiceRegistry)(nil))
	_ = (*scheduler)((*registry.Scheduler)(nil))
	_ = (*manifestFactory)((*registry.ManifestFactory)(nil))
	_ = (*containerInfo)((*client.ContainerInfo)(nil))
	_ = (*interface { // compare-and-swap and compare-and-delete are added here (D23)
		etcdClient
		CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error)
		CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error)
	})((*registry.EtcdClient)(nil))
)

// The types that implement them.
type registries interface {
	taskRegistry
	controllerRegistry
	serviceRegistry
}

var (
	_ http.Handler           = (*apiserver.ApiServer)(nil)
	_ restStorage            = (*registry.TaskRegistryStorage)(nil)
	_ restStorage            = (*registry.ControllerRegistryStorage)(nil)
	_ restStorage            = (*registry.ServiceRegistryStorage)(nil)
	_ registries             = (*registry.MemoryRegistry)(nil)
	_ registries             = (*registry.EtcdRegistry)(nil)
	_ scheduler              = (*registry.RandomScheduler)(nil)
	_ scheduler              = (*registry.RoundRobinScheduler)(nil)
	_ scheduler              = (*registry.FirstFitScheduler)(nil)
	_ manifestFactory        = (*registry.BasicManifestFactory)(nil)
	_ containerInfo          = (*kubeletclient.HTTPContainerInfo)(nil)
	_ containerInfo          = clienttest.FakeContainerInfo{} // in the original it is beside the real one
	_ client.ClientInterface = (*client.Client)(nil)
	_ flag.Value             = (*util.StringList)(nil)
	_                        = apiserver.Status{Success: true} // exported here: D15
)

// The functions.
var (
	_ func(map[string]apiserver.RESTStorage, string) *apiserver.ApiServer = apiserver.New

	_ func(registry.TaskRegistry, client.ContainerInfo, registry.Scheduler) apiserver.RESTStorage = registry.MakeTaskRegistryStorage
	_ func(registry.ControllerRegistry) apiserver.RESTStorage                                     = registry.MakeControllerRegistryStorage
	_ func(registry.ServiceRegistry) apiserver.RESTStorage                                        = registry.MakeServiceRegistryStorage

	_ func() *registry.MemoryRegistry                                                    = registry.MakeMemoryRegistry
	_ func(registry.EtcdClient, []string) *registry.EtcdRegistry                         = registry.MakeEtcdRegistry
	_ func([]string, registry.TaskRegistry) registry.Scheduler                           = registry.MakeFirstFitScheduler
	_ func([]string) registry.Scheduler                                                  = registry.MakeRoundRobinScheduler
	_ func([]string, rand.Rand) registry.Scheduler                                       = registry.MakeRandomScheduler
	_ func(api.Task, string, string) bool                                                = registry.LabelMatch
	_ func(api.Task, *map[string]string) bool                                            = registry.LabelsMatch
	_ func(registry.ServiceRegistry, string) ([]api.EnvVar, error)                       = registry.GetServiceEnvironmentVariables
	_ func(registry.ServiceRegistry, registry.TaskRegistry) *registry.EndpointController = registry.MakeEndpointController
	_ func(*registry.EndpointController) error                                           = (*registry.EndpointController).SyncServiceEndpoints

	_ func(map[string]string) string          = client.EncodeLabelQuery
	_ func(string) (map[string]string, error) = client.DecodeLabelQuery // the error is ours: D5

	_ func(func(), time.Duration) = util.Forever
	_ func()                      = util.HandleCrash
	_ func(interface{}) string    = util.MakeJSONString
)
