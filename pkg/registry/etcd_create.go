package registry

import (
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// A task is three writes: its entry in the index, which makes its id unique in
// the cluster; its manifest in the machine's list, where its host ports are
// decided; and the task itself, which makes it exist. A task exists if and only
// if its own key does: whatever else is there without it was left behind.

// CreateTask implements TaskRegistry: index, list, task.
func (registry *EtcdRegistry) CreateTask(machine string, task api.Task) error {
	defer registry.mirror.unreserve(task.ID)
	budget := registry.startBudget()
	if !registry.mirror.isLoaded() {
		if err := registry.mirror.fresh("create task"); err != nil {
			return err
		}
	}
	if err := registry.checkUnindexed(task.ID); err != nil {
		return err
	}
	claimed, err := registry.claim(machine, task.ID, budget)
	if err != nil {
		return err
	}
	err = registry.createClaimed(machine, task, claimed, budget)
	switch api.KindOf(err) {
	case api.Unavailable, api.AlreadyExists:
		// Either nobody knows what was written, and Reconcile finds out; or the
		// task is on this machine, written by another program, and the index is
		// now right.
	case "":
	default:
		registry.release(claimed)
	}
	return err
}

// checkUnindexed returns an error when another program has written a task of
// this id, on whatever machine, which the index does not know yet.
func (registry *EtcdRegistry) checkUnindexed(taskID string) error {
	machine := registry.mirror.find(taskID)
	if machine == "" {
		return nil
	}
	return registry.checkAbsent(machine, taskID)
}

// catchUp makes sure that the copy is not older than the claim. If it has to be
// read anew, another program has written: a task of this id, it may be.
func (registry *EtcdRegistry) catchUp(claimed *etcd.Node, taskID string) error {
	mirror := registry.mirror
	if !mirror.reaches(mirror.now(claimed.ModifiedIndex)) {
		if err := mirror.reload("create task"); err != nil {
			return err
		}
	}
	return registry.checkUnindexed(taskID)
}

// claim writes a task's entry in the index. When there is one, another request
// has the id: for good if its task exists, else it is about to create or delete
// it, and a moment later it is known which.
func (registry *EtcdRegistry) claim(machine, taskID string, budget requestBudget) (*etcd.Node, error) {
	wait := 2 * time.Millisecond
	for deadline := registry.now().Add(registry.patience); ; wait = min(2*wait, 20*time.Millisecond) {
		if err := budget.left("create task"); err != nil {
			return nil, err
		}
		resp, err := registry.mirror.Create(indexEntryKey(taskID), machine, 0)
		if err == nil {
			return resp.Node, nil
		}
		if !hasCode(err, alreadyExists) {
			return nil, failed("create task", err)
		}
		entry, err := registry.readKey("create task", indexEntryKey(taskID))
		if err == nil && entry != nil {
			err = registry.checkAbsent(entry.Value, taskID)
		}
		if err != nil {
			return nil, err
		}
		if registry.now().After(deadline) {
			return nil, &api.Error{Kind: api.Unavailable, Message: "task " + api.Quote(taskID) +
				" is being created or deleted by a request that has not ended; ask again in half a minute"}
		}
		time.Sleep(wait)
	}
}

// checkAbsent returns an api.AlreadyExists error when the task is on the machine.
func (registry *EtcdRegistry) checkAbsent(machine, taskID string) error {
	node, err := registry.readKey("create task", taskKey(machine, taskID))
	if err == nil && node != nil {
		err = api.NewAlreadyExists("task", taskID)
	}
	return err
}

// release takes a claim back. When that fails, Reconcile does it later.
func (registry *EtcdRegistry) release(claimed *etcd.Node) {
	_, _ = registry.mirror.CompareAndDelete(claimed.Key, "", claimed.ModifiedIndex)
}

// createClaimed writes the manifest and the task, or neither.
func (registry *EtcdRegistry) createClaimed(machine string, task api.Task, claimed *etcd.Node, budget requestBudget) error {
	value, err := encodeTask(task)
	if err != nil {
		return err
	}
	if err := budget.left("create task"); err != nil {
		return err
	}
	if err := registry.catchUp(claimed, task.ID); err != nil {
		return err
	}
	if err := budget.left("create task"); err != nil {
		return err
	}
	manifest, err := registry.manifestAt(claimed.ModifiedIndex, machine, task)
	if err != nil {
		return err
	}
	if err := budget.left("create task"); err != nil {
		return err
	}
	if err := registry.addToList(machine, task, manifest, registry.mirror.state(machine)); err != nil {
		return err
	}
	if err := budget.left("create task"); err != nil {
		return err
	}
	_, err = registry.mirror.Create(taskKey(machine, task.ID), value, 0)
	if err == nil {
		return nil
	}
	if hasCode(err, alreadyExists) {
		return api.NewAlreadyExists("task", task.ID)
	}
	if err = failed("create task", err); api.KindOf(err) != api.Unavailable {
		if undoErr := registry.removeFromList(machine, task.ID, claimed, nil); undoErr != nil {
			return undoErr
		}
	}
	return err
}

// addToList puts the manifest of a new task into its machine's list, if its
// host ports are free there. For the state see changeList.
func (registry *EtcdRegistry) addToList(machine string, task api.Task, manifest manifestEntry, state *machineState) error {
	return registry.changeList(machine, task.ID, state, func(state *machineState) ([]manifestEntry, error) {
		if state.task(task.ID) != nil {
			return nil, api.NewAlreadyExists("task", task.ID)
		}
		if err := state.checkPorts(task); err != nil {
			return nil, err
		}
		return state.with(manifest), nil
	})
}
