package registry

import (
	"cmp"
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
		// Either nobody knows what was written, and Reconcile finds out; or the
		// task is on this machine, written by another program, and the index is
		// now right.
	case "":
	default:
		registry.release(claimed.entry)
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
	if err := registry.mirror.reach(claimed.ModifiedIndex, "create task"); err != nil {
		return err
	}
	return registry.checkUnindexed(taskID)
}

// claim is an entry in the index that a request has written for its task.
type claim struct {
	entry  *etcd.Node
	budget requestBudget // of the request's further steps: others rely on it
}

const (
	// claimPatience is how long another request's claim has to stay as it is, with
	// no task, until it is taken for left behind: that request begins no further
	// step then.
	claimPatience = maxRequestTime + 100*time.Millisecond
	// maxClaimTime is the age at which a request does not claim any more.
	maxClaimTime = claimPatience + 600*time.Millisecond
)

// claim writes a task's entry in the index. When there is one, another request
// has the id: for good if its task exists, else it is about to create or delete
// it, and a moment later it is known which. A claim that was left behind is taken
// over, if no call that creates its task can be on the way.
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

// mayCome tells whether the task of a claim that was left behind may still be
// created, by a call that is on its way: one was sent only if its manifest is in
// the list. Then it is for Reconcile, which waits until etcd has given up the call.
func (registry *EtcdRegistry) mayCome(entry *etcd.Node, taskID string) (bool, error) {
	if !isName(entry.Value) {
		return false, nil
	}
	state, err := registry.readMachine(entry.Value)
	if err != nil {
		return false, err
	}
	return state.listError != nil || state.entry(taskID) != nil, nil
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

// addToList puts the manifest of a new task into its machine's list, if its
// host ports are free there. The list is written even if the manifest was left
// there: who is late in taking that one out relies on it. For the state see
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
