package registry

import "kube2014/pkg/api"

// taskTable holds tasks by id, by label and by host port. It has no lock of its
// own. It shares nothing with its callers.
type taskTable struct {
	taskIndex
	hostPorts portTable
}

func makeTaskTable() taskTable {
	return taskTable{taskIndex: makeTaskIndex(), hostPorts: portTable{}}
}

// get returns a task and its entry.
func (t *taskTable) get(id string) (api.Task, *taskEntry, error) {
	entry := t.byID.get(id)
	if entry == nil {
		return api.Task{}, nil, api.NewNotFound("task", id)
	}
	task, err := entry.task()
	return task, entry, err
}

// add stores a new task with its entry and takes its host ports, or fails and
// does neither.
func (t *taskTable) add(task api.Task, entry *taskEntry) error {
	if err := t.hostPorts[entry.machine()].check(entry.machine(), task); err != nil {
		return err
	}
	t.store(task, entry)
	return nil
}

// replace is like add, for a new version of a task.
func (t *taskTable) replace(task api.Task, entry *taskEntry, old api.Task, oldEntry *taskEntry) error {
	if err := t.hostPorts[entry.machine()].check(entry.machine(), task); err != nil {
		return err
	}
	t.drop(old, oldEntry)
	t.store(task, entry)
	return nil
}

func (t *taskTable) store(task api.Task, entry *taskEntry) {
	t.put(entry, task.Labels)
	t.hostPorts.of(entry.machine()).take(entry.id(), hostPorts(task))
}

// drop takes out a task that is here.
func (t *taskTable) drop(task api.Task, entry *taskEntry) {
	t.remove(entry, task.Labels)
	t.hostPorts.of(entry.machine()).release(hostPorts(task))
}
