package registry

import (
	"kube2014/pkg/api"
)

// DeleteTask implements TaskRegistry: task, list, index key. Without its own key
// the task is gone; if the rest fails, Reconcile repairs it. Each of the three
// writes names the version that was read, so that a delayed call deletes nothing
// of a newer task.
func (registry *EtcdRegistry) DeleteTask(taskID string) error {
	budget := registry.startBudget()
	found, err := registry.locate("delete task", taskID)
	if err != nil {
		return err
	}
	state := found.state
	for {
		if err := budget.left("delete task"); err != nil {
			return err
		}
		if state == nil {
			if state, err = registry.readMachine(found.machine); err != nil {
				return err
			}
		}
		node := state.task(taskID)
		if node == nil {
			return api.NewNotFound("task", taskID)
		}
		if node.Dir {
			return decode("task", node, nil)
		}
		if createdBy(node) > found.seen { // newer than the index key, which is an earlier task's
			if found, err = registry.locate("delete task", taskID); err != nil {
				return err
			}
			state = found.state
			continue
		}
		if state.badList != nil {
			return state.badList.err
		}
		if err := budget.left("delete task"); err != nil {
			return err
		}
		_, err = registry.mirror.CompareAndDelete(node.Key, "", node.ModifiedIndex)
		if err == nil {
			break
		}
		if hasCode(err, notFound) {
			return api.NewNotFound("task", taskID)
		}
		if !hasCode(err, compareFailed) {
			return failed("delete task", err)
		}
		state = nil // it was updated, or made again
	}
	if err := budget.left("delete task"); err != nil {
		return err
	}
	if err := registry.removeFromList(found.machine, taskID, found.entry, state.afterDeletion(taskID)); err != nil {
		return err
	}
	if found.entry == nil { // Reconcile may have added it meanwhile
		found.entry, err = registry.readKey("delete task", indexEntryKey(taskID))
		if err != nil || found.entry == nil || found.entry.Value != found.machine {
			return err
		}
	}
	_, err = registry.mirror.CompareAndDelete(found.entry.Key, "", found.entry.ModifiedIndex)
	return failed("delete task", ignore(err, notFound, compareFailed))
}
