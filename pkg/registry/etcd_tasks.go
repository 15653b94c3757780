package registry

import (
	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
)

// ListTasks implements TaskRegistry. What is not a task is logged and left out.
func (registry *EtcdRegistry) ListTasks(query *map[string]string) ([]api.Task, error) {
	listed, err := registry.carrying(labelsOf(query))
	if err != nil {
		return nil, err
	}
	return listed.tasks()
}

// carrying returns the tasks that carry all labels of the query, after at most
// one read of all, which is not needed as long as this process alone writes.
func (registry *EtcdRegistry) carrying(query map[string]string) (taskRuns, error) {
	if err := registry.mirror.fresh("list tasks"); err != nil {
		return taskRuns{}, err
	}
	for _, broken := range registry.mirror.brokenTasks() {
		registry.warnOnce(broken.node, api.InFull(broken.err))
	}
	return registry.mirror.carrying(query), nil
}

// EncodedTasks implements TaskEncoder.
func (registry *EtcdRegistry) EncodedTasks(query map[string]string) (apiserver.Encoded, error) {
	tasks, err := registry.carrying(query)
	if err != nil {
		return apiserver.Encoded{}, err
	}
	return registry.texts.encode(tasks, query), nil
}

// SelectEndpoints implements EndpointSelector.
func (registry *EtcdRegistry) SelectEndpoints() (func(map[string]string) []string, error) {
	_, err := registry.carrying(nil)
	return func(query map[string]string) []string { return registry.mirror.carrying(query).addresses() }, err
}

// GetTask implements TaskRegistry.
func (registry *EtcdRegistry) GetTask(taskID string) (*api.Task, error) {
	stored, err := registry.readTask(taskID)
	if err != nil {
		return nil, err
	}
	return decodeTask(stored.machine, stored.node)
}

// EncodedTask implements TaskEncoder.
func (registry *EtcdRegistry) EncodedTask(taskID string) (apiserver.Encoded, string, error) {
	stored, err := registry.readTask(taskID)
	if err != nil {
		return apiserver.Encoded{}, "", err
	}
	if stored.read(); stored.err != nil {
		return apiserver.Encoded{}, "", stored.err
	}
	return stored.entry.encoded(), stored.machine, nil
}

// readTask returns a task: out of the copy if it is exact; else out of the key
// where the copy has it, or the index.
func (registry *EtcdRegistry) readTask(taskID string) (*storedTask, error) {
	exact, err := registry.mirror.exact("get task")
	if err != nil {
		return nil, err
	}
	stored, places := registry.mirror.stored(taskID)
	switch {
	case places == 2:
	case exact && stored == nil:
		return nil, api.NewNotFound("task", taskID)
	case exact:
		return stored, nil
	case stored != nil: // most likely it is still there
		if found, err := registry.readStored(stored.machine, taskID); found != nil || err != nil {
			return found, err
		}
	}
	return registry.readIndexed(taskID)
}

// readStored reads the task that is expected on a machine, nil when it is not
// there.
func (registry *EtcdRegistry) readStored(machine, taskID string) (*storedTask, error) {
	if machine == "" {
		return nil, nil
	}
	node, err := registry.readKey("get task", taskKey(machine, taskID))
	if err != nil || node == nil {
		return nil, err
	}
	return &storedTask{node: node, machine: machine}, nil
}

// readIndexed reads a task where the index has it.
func (registry *EtcdRegistry) readIndexed(taskID string) (*storedTask, error) {
	found, err := registry.locate("get task", taskID)
	if err != nil {
		return nil, err
	}
	if found.node != nil {
		return &storedTask{node: found.node, machine: found.machine}, nil
	}
	stored, err := registry.readStored(found.machine, taskID)
	if err == nil && stored == nil {
		err = api.NewNotFound("task", taskID)
	}
	return stored, err
}

// decodeTask reads a task from its key, which says its id and its machine.
func decodeTask(machine string, node *etcd.Node) (*api.Task, error) {
	task := &api.Task{}
	if err := decode("task", node, task); err != nil {
		return nil, err
	}
	task.ID = baseName(node.Key)
	task.CurrentState.Host = machine
	return task, nil
}

// encodeTask is the inverse of decodeTask: the key says the machine.
func encodeTask(task api.Task) (string, error) {
	task.CurrentState.Host = ""
	return encode(task)
}

// location is where a task is, or where the index says it is.
type location struct {
	machine string
	entry   *etcd.Node // in the index; nil when it is not there
	seen    uint64     // etcd's index when the entry was looked up
	// When the task was seen on the way:
	node  *etcd.Node
	state *machineState
}

// locate finds a task's machine: by the index, or among all tasks when it is
// not in there because another program wrote it.
func (registry *EtcdRegistry) locate(operation, taskID string) (location, error) {
	entry, seen, err := registry.readEntry(operation, taskID)
	if err != nil {
		return location{}, err
	}
	if entry != nil {
		return location{machine: entry.Value, entry: entry, seen: seen}, nil
	}
	if err := registry.mirror.fresh(operation); err != nil {
		return location{}, err
	}
	machine := registry.mirror.find(taskID)
	state := registry.mirror.state(machine)
	node := state.task(taskID)
	if node == nil {
		return location{}, api.NewNotFound("task", taskID)
	}
	// Its entry is older than a task: one that was created meanwhile has it now.
	if entry, seen, err = registry.readEntry(operation, taskID); err != nil {
		return location{}, err
	}
	if entry != nil {
		return location{machine: entry.Value, entry: entry, seen: seen}, nil
	}
	return location{machine: machine, seen: seen, node: node, state: state}, nil
}

// readEntry returns a task's entry in the index, nil when it is not there, and
// etcd's index at that moment.
func (registry *EtcdRegistry) readEntry(operation, taskID string) (entry *etcd.Node, seen uint64, err error) {
	resp, err := registry.mirror.Get(indexEntryKey(taskID), false, false)
	if seen, err = indexOf(resp, err); err != nil {
		return nil, 0, failed(operation, err)
	}
	if resp != nil {
		entry = resp.Node
	}
	return entry, seen, nil
}
