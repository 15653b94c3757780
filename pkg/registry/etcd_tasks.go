package registry

import (
	"cmp"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
)

// ListTasks implements TaskRegistry. What is not a task is logged and left out.
func (registry *EtcdRegistry) ListTasks(query *map[string]string) ([]api.Task, error) {
	listed, err := registry.carrying(labelsOf(query))
	if err != nil {
		return nil, err
	}
	return listed.tasks()
}

// carrying returns the tasks that carry all labels of the query. It reads
// everything at most once, and not at all as long as only this process writes.
func (registry *EtcdRegistry) carrying(query map[string]string) (taskRuns, error) {
	if err := registry.mirror.fresh("list tasks"); err != nil {
		return taskRuns{}, err
	}
	registry.warnOfUnreadable()
	return registry.mirror.carrying(query), nil
}

// EncodedTasks implements TaskEncoder.
func (registry *EtcdRegistry) EncodedTasks(query map[string]string) (conversion.Encoded, error) {
	tasks, err := registry.carrying(query)
	if err != nil {
		return conversion.Encoded{}, err
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
func (registry *EtcdRegistry) EncodedTask(taskID string) (conversion.Encoded, string, error) {
	stored, err := registry.readTask(taskID)
	if err != nil {
		return conversion.Encoded{}, "", err
	}
	if stored.read(); stored.err != nil {
		return conversion.Encoded{}, "", stored.err
	}
	return stored.entry.encoded(), stored.machine, nil
}

// readTask returns a task from the cache if that is up to date. If it is stale,
// readTask reads the key where the cache has the task, or everything, if that
// has been necessary too often. A task that the cache does not have, or has
// twice, is looked up in the index.
func (registry *EtcdRegistry) readTask(taskID string) (*storedTask, error) {
	mirror := registry.mirror
	if _, places := mirror.stored(taskID); places != 1 {
		return registry.readIndexed(taskID)
	}
	exact, err := mirror.exact("get task")
	if err != nil {
		return nil, err
	}
	stored, places := mirror.stored(taskID)
	switch {
	case exact && places <= 1:
		return found(stored, taskID)
	case places != 1:
		return registry.readIndexed(taskID)
	}
	if !mirror.missedTooOften() {
		if now, err := registry.readStored(stored.machine, taskID); now != nil || err != nil {
			return now, err
		}
	}
	if err := mirror.reload("get task"); err != nil {
		return nil, err
	}
	if stored, places = mirror.stored(taskID); places > 1 {
		return registry.readIndexed(taskID)
	}
	return found(stored, taskID)
}

// readIndexed reads a task on the machine that the index names. A task without
// an index key may have been written by another program: then it is in the
// cache.
func (registry *EtcdRegistry) readIndexed(taskID string) (*storedTask, error) {
	entry, seen, err := registry.readEntry("get task", taskID)
	if err != nil {
		return nil, err
	}
	if entry != nil {
		stored, err := registry.readStored(entry.Value, taskID)
		if err != nil {
			return nil, err
		}
		return found(stored, taskID)
	}
	if err := registry.mirror.reach(seen, "get task"); err != nil {
		return nil, err
	}
	stored, _ := registry.mirror.stored(taskID)
	return found(stored, taskID)
}

// found returns a task, or that there is none.
func found(stored *storedTask, taskID string) (*storedTask, error) {
	if stored == nil {
		return nil, api.NewNotFound("task", taskID)
	}
	return stored, nil
}

// readStored reads the task that is expected on a machine, nil when it is not
// there.
func (registry *EtcdRegistry) readStored(machine, taskID string) (*storedTask, error) {
	node, err := registry.readKey("get task", taskKey(machine, taskID))
	if err != nil || node == nil {
		return nil, err
	}
	return &storedTask{node: node, machine: machine}, nil
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
	entry   *etcd.Node    // in the index; nil when it is not there
	seen    uint64        // etcd's index when the entry was looked up
	state   *machineState // of the machine, when the task was seen on the way
}

// locate finds a task's machine: in the index, or in the cache if another
// program wrote the task without an index key.
func (registry *EtcdRegistry) locate(operation, taskID string) (location, error) {
	entry, seen, err := registry.readEntry(operation, taskID)
	if err != nil {
		return location{}, err
	}
	if entry != nil {
		return location{machine: entry.Value, entry: entry, seen: seen}, nil
	}
	if err := registry.mirror.reach(seen, operation); err != nil {
		return location{}, err
	}
	machine := registry.mirror.find(taskID)
	state := registry.mirror.state(machine)
	node := state.task(taskID)
	if node == nil {
		return location{}, api.NewNotFound("task", taskID)
	}
	if createdBy(node) > seen { // its entry is older than a task, and not yet looked for
		if entry, seen, err = registry.readEntry(operation, taskID); err != nil {
			return location{}, err
		}
		if entry != nil {
			return location{machine: entry.Value, entry: entry, seen: seen}, nil
		}
	}
	return location{machine: machine, seen: seen, state: state}, nil
}

// createdBy returns an index at which a node existed: that of its creation, if
// it is known. A node from the answer to a compare-and-swap does not have it.
func createdBy(node *etcd.Node) uint64 { return cmp.Or(node.CreatedIndex, node.ModifiedIndex) }

// readEntry returns a task's index key, nil when there is none or its value
// cannot be a machine, and etcd's index at that moment.
func (registry *EtcdRegistry) readEntry(operation, taskID string) (entry *etcd.Node, seen uint64, err error) {
	resp, err := registry.mirror.Get(indexEntryKey(taskID), false, false)
	if seen, err = indexOf(resp, err); err != nil {
		return nil, 0, failed(operation, err)
	}
	if resp != nil && isName(resp.Node.Value) {
		entry = resp.Node
	}
	return entry, seen, nil
}
