package registry

import (
	"bytes"
	"errors"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// errChanged means that the state is stale, so that the swap failed.
var errChanged = errors.New("the list of manifests has changed")

// swapList replaces the list if it has not changed since the state was read, and
// returns the index of the new one (D23).
func (registry *EtcdRegistry) swapList(state *machineState, entries []manifestEntry) (uint64, error) {
	if state.badList != nil {
		return 0, state.badList.err
	}
	raw := make([][]byte, len(entries))
	for i, entry := range entries {
		raw[i] = entry.raw
	}
	value := "[" + string(bytes.Join(raw, []byte(","))) + "]"
	var resp *etcd.Response
	var err error
	key := kubeletKey(state.machine)
	registry.mirror.expectList(state.machine, value, entries)
	if state.listIndex == 0 {
		resp, err = registry.mirror.Create(key, value, 0)
	} else {
		resp, err = registry.mirror.CompareAndSwap(key, value, 0, "", state.listIndex)
	}
	if hasCode(err, alreadyExists, compareFailed, notFound) {
		return 0, errChanged
	}
	if hasCode(err, formTooLarge) { // another machine may do
		return 0, &api.Error{Kind: api.HostPortTaken, Message: "the list of manifests of machine " + state.machine + " is too large for etcd", Err: err}
	}
	if err != nil {
		return 0, failed("change the list of manifests of machine "+state.machine, err)
	}
	return resp.Node.ModifiedIndex, nil
}

// readMachine reads the tasks and the list of a machine, as of one moment.
func (registry *EtcdRegistry) readMachine(machine string) (*machineState, error) {
	directory, index, err := registry.readDirectory("read machine "+machine, hostKey(machine))
	if err != nil {
		return nil, err
	}
	return makeMachineState(machine, directory, index, registry.mirror.state(machine)), nil
}

// removeFromList removes a task's manifest from a machine's list, unless the
// task's index key has changed: the manifest may then be a newer task's. entry
// is the index key as it was read, nil if there was none. For the state see
// changeList.
func (registry *EtcdRegistry) removeFromList(machine, taskID string, entry *etcd.Node, known *machineState) error {
	return registry.changeList(machine, taskID, known, func(state *machineState) ([]manifestEntry, error) {
		if state.task(taskID) != nil || (state.badList == nil && state.entry(taskID) == nil) {
			return nil, nil // it has been created again, or it is not in the list
		}
		if (known == nil || state.listIndex != known.listIndex) && api.ValidateID(taskID) == nil {
			// The list was read before: if the index key changes after this, so
			// does the list, and the swap fails. An invalid id has no index key.
			now, err := registry.readKey("read the index", indexEntryKey(taskID))
			if err != nil {
				return nil, err
			}
			if (now == nil) != (entry == nil) || (now != nil && now.ModifiedIndex != entry.ModifiedIndex) {
				return nil, nil
			}
		}
		return state.without(taskID), nil
	})
}
