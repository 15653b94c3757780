package registry

import (
	"errors"
	"log"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/client"
	"kube2014/pkg/storage"
)

// TaskRegistryStorage is the RESTStorage of tasks. It places a new task on a
// machine, and adds the info of the machine's kubelet to a task that it returns.
type TaskRegistryStorage struct {
	restStorage[api.Task]
	registry      TaskRegistry
	containerInfo client.ContainerInfo
	scheduler     Scheduler
	now           func() time.Time
}

// MakeTaskRegistryStorage returns the storage of the registry's tasks.
func MakeTaskRegistryStorage(registry TaskRegistry, containerInfo client.ContainerInfo, scheduler Scheduler) apiserver.RESTStorage {
	s := &TaskRegistryStorage{registry: registry, containerInfo: containerInfo, scheduler: scheduler, now: time.Now}
	s.restStorage = restStorage[api.Task]{kind: api.TaskKind, objects: objectsOf(registry),
		validate: api.ValidateTask, update: registry.UpdateTask, remove: registry.DeleteTask}
	return s
}

// LabelMatch reports whether the task carries the label.
func LabelMatch(task api.Task, queryKey, queryValue string) bool {
	return storage.Carries(task.Labels, map[string]string{queryKey: queryValue})
}

// LabelsMatch reports whether the task carries all labels of the query; a nil
// query asks for nothing.
func LabelsMatch(task api.Task, labelQuery *map[string]string) bool {
	return storage.Carries(task.Labels, labelsOf(labelQuery))
}

// Get returns a *storage.Object with an *api.Task; or, if the kubelet answers, an
// *api.Task with its info.
func (s *TaskRegistryStorage) Get(id string) (interface{}, error) {
	object, err := s.get(id)
	if err != nil {
		return nil, err
	}
	stored := object.Object.(*api.Task)
	if stored.CurrentState.Host == "" { // a pod that has no machine yet
		return object, nil
	}
	info := s.info(stored.CurrentState.Host, id)
	if info == nil {
		return object, nil
	}
	task := *stored
	task.CurrentState.Info = info
	return &task, nil
}

// info returns the info of a machine's kubelet about a task, nil if it does not
// answer: an unavailable kubelet does not hide the task (D21).
func (s *TaskRegistryStorage) info(machine, id string) interface{} {
	info, err := s.containerInfo.GetContainerInfo(machine, id)
	if err == nil {
		return info
	}
	if !errors.Is(err, client.ErrKubeletSkipped) { // its failure was logged
		log.Printf("task %s is answered without info: %v", id, err)
	}
	return nil
}

// Extract returns an api.Task without its CurrentState, which only the server
// sets (D11).
func (s *TaskRegistryStorage) Extract(body string) (interface{}, error) {
	object, err := s.restStorage.Extract(body)
	if err != nil {
		return nil, err
	}
	task := object.(api.Task)
	task.CurrentState = api.TaskState{}
	return task, nil
}

// Create places an api.Task on a machine.
func (s *TaskRegistryStorage) Create(object interface{}) error {
	task, err := s.checked(object)
	if err != nil {
		return err
	}
	err = s.place(task)
	if kind := api.KindOf(err); kind == api.Conflict || kind == api.Internal {
		// If the task exists already, that is the better reason.
		if _, getErr := s.registry.GetTask(task.ID); getErr == nil {
			return api.NewAlreadyExists("task", task.ID)
		}
	}
	return err
}

// place tries the machines of the scheduler until one takes the task.
func (s *TaskRegistryStorage) place(task api.Task) error {
	for tries := (attempts{began: s.now()}); ; {
		machine, err := s.scheduler.Schedule(task)
		if err != nil {
			return err
		}
		err = s.registry.CreateTask(machine, task)
		if again, err := tries.goOn(task.ID, machine, err, s.now()); !again {
			return err
		}
	}
}
