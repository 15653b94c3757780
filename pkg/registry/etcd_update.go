package registry

import (
	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// UpdateTask implements TaskRegistry: list, then task. Between the two the
// manifest is newer than the task; if it stays so, Reconcile restores it.
func (registry *EtcdRegistry) UpdateTask(task api.Task) error {
	budget := registry.startBudget()
	found, err := registry.locate("update task", task.ID)
	if err != nil {
		return err
	}
	if err := budget.left("update task"); err != nil {
		return err
	}
	manifest, err := registry.manifestAt(found.seen, found.machine, task)
	if err != nil {
		return err
	}
	for state := found.state; ; state = nil {
		if err := budget.left("update task"); err != nil {
			return err
		}
		swapped, err := registry.replace(found.machine, task, manifest, state, budget)
		if err != nil || swapped {
			return err
		}
		if registry.now().After(budget.began.Add(swapTime)) {
			return api.NewConflict("task %s is being updated by too many other requests", api.Quote(task.ID))
		}
	}
}

// replace is one attempt to replace a task and its manifest; it returns false if
// another request has changed the task. For the state see changeList.
func (registry *EtcdRegistry) replace(machine string, task api.Task, manifest manifestEntry, state *machineState, budget requestBudget) (bool, error) {
	var index uint64
	var value string
	err := registry.changeList(machine, task.ID, state, func(state *machineState) ([]manifestEntry, error) {
		node := state.task(task.ID)
		if node == nil {
			return nil, api.NewNotFound("task", task.ID)
		}
		stored, err := decodeTask(machine, node)
		if err != nil {
			return nil, err
		}
		task.CurrentState = stored.CurrentState
		if value, err = encodeTask(task); err != nil {
			return nil, err
		}
		if err := state.checkPorts(task); err != nil {
			return nil, err
		}
		if index = node.ModifiedIndex; state.inLine(node, stored) {
			return state.with(manifest), nil
		}
		if index, err = registry.fence(node); err != nil {
			return nil, err
		}
		return state.replacing(manifest), nil
	})
	if err == nil {
		err = budget.left("update task")
	}
	if err != nil {
		return false, err
	}
	_, err = registry.mirror.CompareAndSwap(taskKey(machine, task.ID), value, 0, "", index)
	switch {
	case hasCode(err, compareFailed):
		return false, nil
	case hasCode(err, notFound):
		return false, api.NewNotFound("task", task.ID)
	}
	return err == nil, failed("update task", err)
}

// fence writes a task again, unchanged, so that an unfinished update that has
// read it before fails: the caller is about to overwrite the manifest of that
// update. It returns the task's new index, or errChanged if the task has changed
// since the caller read it.
func (registry *EtcdRegistry) fence(node *etcd.Node) (uint64, error) {
	resp, err := registry.mirror.CompareAndSwap(node.Key, node.Value, 0, "", node.ModifiedIndex)
	if hasCode(err, compareFailed, notFound) {
		return 0, errChanged
	}
	if err != nil {
		return 0, failed("update task", err)
	}
	return resp.Node.ModifiedIndex, nil
}
