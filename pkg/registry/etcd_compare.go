package registry

import (
	"maps"
	"slices"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
)

// compare returns all inconsistencies: first of the lists, then of the index,
// then of the endpoints.
func compare(registry *EtcdRegistry, index, hosts, services *etcd.Node) []problem {
	var inLists, inIndex []problem
	machineOf := map[string]string{}
	all := map[string]*machineState{}
	for _, directory := range nodesOf(hosts) {
		machine := baseName(directory.Key)
		all[machine] = makeMachineState(machine, directory, 0, registry.mirror.state(machine))
	}
	for _, directory := range nodesOf(hosts) {
		machine := baseName(directory.Key)
		state := all[machine]
		inLists = append(inLists, compareList(all, index, state)...)
		for _, task := range state.tasks {
			node, id := task.node, task.id()
			if node.Dir || api.ValidateID(id) != nil {
				registry.warnOnce(node, "no request can reach a task at this key; delete it")
				continue
			}
			if child(index, id) == nil {
				inIndex = append(inIndex, notIndexed(machine, node))
			}
			if other, twice := machineOf[id]; twice {
				registry.warnOnce(node, "the same task is also on machine "+other+"; delete one of the two keys")
			}
			machineOf[id] = machine
		}
	}
	if index != nil {
		for _, entry := range index.Nodes {
			if entry.Dir {
				registry.warnOnce(entry, "this should be an index key but is a directory; delete it")
			} else if all[entry.Value].task(baseName(entry.Key)) == nil {
				inIndex = append(inIndex, leftInIndex(entry))
			}
		}
	}
	return slices.Concat(inLists, inIndex, compareEndpoints(services))
}

// strayCopy reports whether the index names another machine for a task, which
// has the task too. Then this copy was written by another program, or by a
// create that was delayed until its claim had been repaired. It gets no
// manifest.
func strayCopy(all map[string]*machineState, index *etcd.Node, machine, taskID string) bool {
	entry := child(index, taskID)
	return entry != nil && entry.Value != machine && all[entry.Value].task(taskID) != nil
}

func compareList(all map[string]*machineState, index *etcd.Node, state *machineState) []problem {
	if state.badList != nil {
		return nil // the log and /healthz name it
	}
	var problems []problem
	ids := map[string]int{}
	for _, entry := range state.entries {
		ids[entry.id]++
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if state.task(id) == nil {
			problems = append(problems, leftInList(state.machine, id, child(index, id)))
		}
	}
	for _, stored := range state.tasks {
		id := stored.id()
		if stored.read(); stored.err != nil || api.ValidateID(id) != nil {
			continue // it is logged by those who list tasks, or with the index
		}
		inLine := ids[id] == 1 && madeFrom(state.entry(id), stored.task)
		if !inLine && !strayCopy(all, index, state.machine, id) {
			problems = append(problems, notInList(state.machine, stored.task, stored.node.ModifiedIndex))
		}
	}
	return problems
}

// madeFrom reports whether a manifest is the task's, plus variables in the
// environment of its containers. Any variables will do: they depend on the
// services at that time.
func madeFrom(entry *manifestEntry, task api.Task) bool {
	want := task.DesiredState.Manifest
	want.Id = task.ID
	var got api.ContainerManifest
	if err := v1beta1.Codec.Unmarshal(entry.raw, &got); err != nil {
		return false
	}
	if len(got.Containers) != len(want.Containers) {
		return false
	}
	for i := range got.Containers {
		own := want.Containers[i].Env
		if len(got.Containers[i].Env) < len(own) {
			return false
		}
		if got.Containers[i].Env = got.Containers[i].Env[:len(own)]; len(own) == 0 {
			got.Containers[i].Env = own
		}
	}
	gotJSON, gotErr := encode(got) // null and [] mean the same where the JSON leaves both out
	wantJSON, wantErr := encode(want)
	return gotErr == nil && wantErr == nil && gotJSON == wantJSON
}

func leftInList(machine, id string, entry *etcd.Node) problem {
	var version uint64
	if entry != nil {
		version = entry.ModifiedIndex
	}
	return problem{finding{"orphaned manifest", machine, id}, version, func(registry *EtcdRegistry) error {
		return registry.removeFromList(machine, id, entry, nil)
	}}
}

func notInList(machine string, task api.Task, version uint64) problem {
	return problem{finding{"missing or stale manifest", machine, task.ID}, version, func(registry *EtcdRegistry) error {
		manifest, err := registry.manifestFor(machine, task)
		if err != nil {
			return err
		}
		return registry.changeList(machine, task.ID, nil, func(state *machineState) ([]manifestEntry, error) {
			node := state.task(task.ID)
			if node == nil || node.ModifiedIndex != version {
				return nil, nil
			}
			if err := state.checkPorts(task); err != nil {
				return nil, err
			}
			var err error
			if version, err = registry.fence(node); err != nil {
				return nil, err
			}
			return state.replacing(manifest), nil
		})
	}}
}

func notIndexed(machine string, node *etcd.Node) problem {
	id := baseName(node.Key)
	return problem{finding{"missing index key", machine, id}, node.CreatedIndex, func(registry *EtcdRegistry) error {
		if now, err := registry.readKey("index task", node.Key); now == nil {
			return err
		}
		_, err := registry.mirror.Create(indexEntryKey(id), machine, 0)
		return failed("index task", ignore(err, alreadyExists))
	}}
}

func leftInIndex(entry *etcd.Node) problem {
	return problem{finding{"orphaned index key", entry.Value, baseName(entry.Key)}, entry.ModifiedIndex, deleteUnchanged(entry)}
}

func compareEndpoints(services *etcd.Node) []problem {
	endpoints := child(services, baseName(endpointsKey))
	if endpoints == nil {
		return nil
	}
	var problems []problem
	for _, node := range endpoints.Nodes {
		if id := baseName(node.Key); child(child(services, baseName(specsKey)), id) == nil && !node.Dir {
			problems = append(problems, problem{finding{"orphaned endpoints", "", id}, node.ModifiedIndex, deleteUnchanged(node)})
		}
	}
	return problems
}

// deleteUnchanged deletes a key if it has not changed since it was read.
func deleteUnchanged(node *etcd.Node) func(*EtcdRegistry) error {
	return func(registry *EtcdRegistry) error {
		_, err := registry.mirror.CompareAndDelete(node.Key, "", node.ModifiedIndex)
		return failed("delete "+node.Key, ignore(err, notFound, compareFailed))
	}
}
