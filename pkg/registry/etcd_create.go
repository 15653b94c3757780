package registry

import (
	"cmp"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// A task is three writes: its index key, which makes its id unique in the
// cluster; its manifest in the machine's list, which decides about host ports;
// and its own key. A task exists if and only if its own key does; the other two
// are orphaned without it.

// CreateTask implements TaskRegistry: index, list, task.
func (registry *EtcdRegistry) CreateTask(machine string, task api.Task) error {
	defer registry.mirror.unreserve(task.ID)
	began := registry.now()
	if !registry.mirror.isLoaded() {
		if err := registry.mirror.reload("create task"); err != nil {
			return err
		}
	}
	if err := registry.checkUnindexed(task.ID); err != nil {
		return err
	}
	claimed, err := registry.claim(machine, task.ID, began)
	if err != nil {
		return err
	}
	err = registry.createClaimed(machine, task, claimed)
	switch api.KindOf(err) {
	case api.Unavailable, api.AlreadyExists:
		// Either the outcome of a write is unknown, and Reconcile repairs it; or
		// another program has written the task on this machine, so that the
		// index key is right.
	case "":
	default:
		registry.release(claimed.entry)
	}
	return err
}

// checkUnindexed returns an error if another program has written a task with
// this id, on any machine, without an index key.
func (registry *EtcdRegistry) checkUnindexed(taskID string) error {
	machine := registry.mirror.find(taskID)
	if machine == "" {
		return nil
	}
	return registry.checkAbsent(machine, taskID)
}

// catchUp makes sure that the cache is not older than the claim. If it was
// stale, another program has written, perhaps a task with this id.
func (registry *EtcdRegistry) catchUp(claimed *etcd.Node, taskID string) error {
	if err := registry.mirror.reach(claimed.ModifiedIndex, "create task"); err != nil {
		return err
	}
	return registry.checkUnindexed(taskID)
}

// claim is an index key that a create has written for its task.
type claim struct {
	entry  *etcd.Node
	budget requestBudget // of the request's further steps: others rely on it
}

const (
	// claimPatience is how long another request's claim must stay unchanged,
	// with no task, to count as orphaned: that request starts no further step
	// then.
	claimPatience = maxRequestTime + 100*time.Millisecond
	// maxClaimTime is the age after which a request stops trying to claim.
	maxClaimTime = claimPatience + 600*time.Millisecond
)

// claim writes a task's index key. If the key exists, the id is taken if its
// task exists too; if not, another request is creating or deleting the task, and
// claim waits for the outcome. It takes over an orphaned claim, unless the write
// of its task may be in flight.
func (registry *EtcdRegistry) claim(machine, taskID string, began time.Time) (claim, error) {
	late := func() bool { return registry.now().Sub(began) >= maxClaimTime }
	var theirs *etcd.Node
	var since time.Time
	for wait := 2 * time.Millisecond; !late(); wait = min(2*wait, 200*time.Millisecond) {
		budget := registry.startBudget()
		resp, err := registry.mirror.Create(indexEntryKey(taskID), machine, 0)
		if err == nil {
			return claim{entry: resp.Node, budget: budget}, nil
		}
		if !hasCode(err, alreadyExists) {
			return claim{}, failed("create task", err)
		}
		if late() {
			break
		}
		entry, err := registry.readKey("create task", indexEntryKey(taskID))
		if err != nil {
			return claim{}, err
		}
		if entry == nil {
			continue
		}
		if late() {
			break
		}
		if isName(entry.Value) {
			if err := registry.checkAbsent(entry.Value, taskID); err != nil {
				return claim{}, err
			}
		}
		if theirs == nil || theirs.ModifiedIndex != entry.ModifiedIndex {
			theirs, since = entry, registry.now()
		}
		if registry.now().Sub(since) < claimPatience {
			registry.sleep(wait)
			continue
		}
		if mayCome, err := registry.mayCome(entry, taskID); err != nil || mayCome || late() {
			return claim{}, cmp.Or(err, error(claimedByOther(taskID)))
		}
		budget = registry.startBudget()
		resp, err = registry.mirror.CompareAndSwap(entry.Key, machine, 0, "", entry.ModifiedIndex)
		if err == nil {
			return claim{entry: resp.Node, budget: budget}, nil
		}
		if !hasCode(err, compareFailed, notFound) {
			return claim{}, failed("create task", err)
		}
	}
	return claim{}, claimedByOther(taskID)
}

func claimedByOther(taskID string) *api.Error {
	return &api.Error{Kind: api.Unavailable, Message: "task " + api.Quote(taskID) +
		" is being created or deleted by another request that has not finished; try again in 20 seconds"}
}

// mayCome reports whether the task of an orphaned claim may still be created by
// a call in flight: such a call was sent only if the manifest is in the list.
// The claim is then left to Reconcile, which waits until etcd has given up the
// call.
func (registry *EtcdRegistry) mayCome(entry *etcd.Node, taskID string) (bool, error) {
	if !isName(entry.Value) {
		return false, nil
	}
	state, err := registry.readMachine(entry.Value)
	if err != nil {
		return false, err
	}
	return state.badList != nil || state.entry(taskID) != nil, nil
}

// checkAbsent returns an api.AlreadyExists error when the task is on the machine.
func (registry *EtcdRegistry) checkAbsent(machine, taskID string) error {
	node, err := registry.readKey("create task", taskKey(machine, taskID))
	if err == nil && node != nil {
		err = api.NewAlreadyExists("task", taskID)
	}
	return err
}

// release deletes a claim. If that fails, Reconcile does it later.
func (registry *EtcdRegistry) release(entry *etcd.Node) {
	_, _ = registry.mirror.CompareAndDelete(entry.Key, "", entry.ModifiedIndex)
}

// createClaimed writes the manifest and the task, or neither.
func (registry *EtcdRegistry) createClaimed(machine string, task api.Task, claimed claim) error {
	budget := claimed.budget
	value, err := encodeTask(task)
	if err != nil {
		return err
	}
	if err := budget.left("create task"); err != nil {
		return err
	}
	if err := registry.catchUp(claimed.entry, task.ID); err != nil {
		if api.KindOf(err) == api.AlreadyExists {
			registry.release(claimed.entry) // it may be on another machine
		}
		return err
	}
	if err := budget.left("create task"); err != nil {
		return err
	}
	manifest, err := registry.manifestAt(claimed.entry.ModifiedIndex, machine, task)
	if err != nil {
		return err
	}
	if err := budget.left("create task"); err != nil {
		return err
	}
	if err := registry.addToList(machine, task, manifest, registry.mirror.state(machine), budget); err != nil {
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
		if undoErr := registry.removeFromList(machine, task.ID, claimed.entry, nil); undoErr != nil {
			return undoErr
		}
	}
	return err
}

// addToList adds the manifest of a new task to its machine's list, if its host
// ports are free there. It writes the list even if the same manifest, orphaned,
// is in it, so that a concurrent removal of the orphan fails. For the state see
// changeList.
func (registry *EtcdRegistry) addToList(machine string, task api.Task, manifest manifestEntry, state *machineState, budget requestBudget) error {
	return registry.changeList(machine, task.ID, state, func(state *machineState) ([]manifestEntry, error) {
		if err := budget.left("create task"); err != nil {
			return nil, err
		}
		if state.task(task.ID) != nil {
			return nil, api.NewAlreadyExists("task", task.ID)
		}
		if err := state.checkPorts(task); err != nil {
			return nil, err
		}
		return state.replacing(manifest), nil
	})
}
