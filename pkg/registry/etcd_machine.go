package registry

import (
	"encoding/json"
	"slices"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// machineState is what etcd held about one machine at one moment: its tasks,
// and the list of manifests that its kubelet reads. Nobody changes it.
type machineState struct {
	machine   string
	index     uint64        // etcd's index at that moment
	tasks     []*storedTask // sorted by id
	entries   []manifestEntry
	listIndex uint64         // the list's modified index, 0 when there is no list
	badList   *unreadableKey // the list, or its directory, if it cannot be read
}

// makeMachineState decodes the directory of a machine, which may be nil. What
// has not changed since an older state, which may be nil, is taken from there.
func makeMachineState(machine string, directory *etcd.Node, index uint64, old *machineState) *machineState {
	if old == nil {
		old = &machineState{}
	}
	state := &machineState{machine: machine, index: index, tasks: storedTasks(machine, directory, old.tasks)}
	list := child(directory, "kubelet")
	misplaced := misplacedDirectory(directory, child(directory, "tasks"))
	switch {
	case misplaced != nil:
		state.badList = misplaced
	case list == nil:
	case !list.Dir && list.ModifiedIndex == old.listIndex:
		state.entries, state.listIndex, state.badList = old.entries, old.listIndex, old.badList
	default:
		state.setList(list)
	}
	return state
}

// withTask returns the state after a change of a task: a version, or its
// deletion.
func (state *machineState) withTask(id string, change *etcd.Node) *machineState {
	after := *state
	after.index = max(after.index, change.ModifiedIndex)
	place, found := findTask(state.tasks, id)
	var version []*storedTask
	if change.Value != "" {
		version = []*storedTask{{node: change, machine: state.machine}}
	}
	behind := place
	if found {
		behind++
	}
	after.tasks = slices.Concat(state.tasks[:place], version, state.tasks[behind:])
	return &after
}

// withList returns the state after a change of the list. The known list, if it
// is the same, saves decoding it.
func (state *machineState) withList(change *etcd.Node, known knownList) *machineState {
	after := *state
	after.index = max(after.index, change.ModifiedIndex)
	after.entries, after.listIndex, after.badList = nil, 0, nil
	switch change.Value {
	case "":
	case known.value:
		after.entries, after.listIndex = known.entries, change.ModifiedIndex
	default:
		after.setList(change)
	}
	return &after
}

func (state *machineState) setList(list *etcd.Node) {
	state.listIndex = list.ModifiedIndex
	if list.Dir {
		state.badList = &unreadableKey{list, decode("list of manifests", list, nil)}
		return
	}
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(list.Value), &raw); err != nil { // it is never indented: no size is too much
		state.badList = &unreadableKey{list, undecodable("list of manifests", list.Key, err)}
		return
	}
	for _, manifest := range raw {
		entry, err := makeManifestEntry(manifest)
		if err != nil {
			state.badList = &unreadableKey{list, undecodable("list of manifests", list.Key, err)}
			return
		}
		state.entries = append(state.entries, entry)
	}
}

// task returns the node of a task, nil when it is not there.
func (state *machineState) task(taskID string) *etcd.Node {
	if state == nil {
		return nil
	}
	if place, found := findTask(state.tasks, taskID); found {
		return state.tasks[place].node
	}
	return nil
}

// entry returns the manifest of a task, nil when it is not in the list.
func (state *machineState) entry(taskID string) *manifestEntry {
	for i := range state.entries {
		if state.entries[i].id == taskID {
			return &state.entries[i]
		}
	}
	return nil
}

// portOwners returns which tasks have the machine's host ports, without one task
// ("" for none). The ports of a task and of its manifest both count: they differ
// while the task is replaced or deleted.
func (state *machineState) portOwners(apart string) portOwners {
	owners := portOwners{}
	for _, entry := range state.entries {
		if entry.id != apart {
			owners.take(entry.id, entry.ports)
		}
	}
	for _, task := range state.tasks {
		if task.id() != apart {
			owners.take(task.id(), task.hostPorts())
		}
	}
	return owners
}

// checkPorts returns an api.HostPortTaken error when a task wants a host port
// that another task has on the machine.
func (state *machineState) checkPorts(task api.Task) error {
	return state.portOwners(task.ID).check(state.machine, task)
}
