package etcd2

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// machine is what etcd held about one machine at one moment: its tasks, and the list
// of manifests that its kubelet reads. Nobody changes it.
type machine struct {
	name  string
	index uint64    // etcd's index at that moment
	tasks []*stored // sorted by id
	manifestList
	owners    func() map[int]string // the ids of the tasks that have the host ports; made once
	directory *etcd.Node            // of the machine, if it has just been read; the cache does not keep it
}

// manifestList is a machine's list of manifests.
type manifestList struct {
	manifests   []manifest
	listVersion uint64  // 0 when there is no list
	broken      *stored // the list, or its directory, if it cannot be decoded
}

func makeMachine(name string, index uint64, tasks []*stored, list manifestList) *machine {
	m := &machine{name: name, index: index, tasks: tasks, manifestList: list}
	m.owners = sync.OnceValue(func() map[int]string {
		owners := map[int]string{}
		m.eachOwner(func(taskID string, ports []int) bool {
			for _, port := range ports {
				owners[port] = taskID
			}
			return true
		})
		return owners
	})
	return m
}

// decodeMachine decodes the directory of a machine, which may be nil. What has not
// changed since the machine that is known, which may be nil, is not decoded again.
func decodeMachine(name string, directory *etcd.Node, index uint64, known *machine) *machine {
	if known == nil {
		known = &machine{}
	}
	var tasks []*stored
	for _, node := range nodesOf(child(directory, "tasks")) {
		id := baseName(node.Key)
		tasks = append(tasks, decodeObject(place{kind: api.TaskKind, id: id, machine: name}, node, known.task(id)))
	}
	var list manifestList
	if bad := misplaced(directory, child(directory, "tasks")); bad != nil {
		list.broken = bad
	} else if node := child(directory, "kubelet"); node != nil {
		list = decodeList(name, node, known.manifestList)
	}
	return makeMachine(name, index, tasks, list)
}

func decodeList(name string, node *etcd.Node, known manifestList) manifestList {
	if !node.Dir && node.ModifiedIndex == known.listVersion {
		return known
	}
	list := manifestList{listVersion: node.ModifiedIndex}
	var err error
	if node.Dir {
		err = decode("list of manifests", node, nil)
	} else if list.manifests, err = decodeManifests(node.Value); err != nil {
		err = undecodable("list of manifests", node, err)
	}
	if err != nil {
		list.broken = &stored{place: place{machine: name}, key: node.Key, version: node.ModifiedIndex, err: err}
	}
	return list
}

// withTask returns the machine with another version of a task, nil for none.
func (m *machine) withTask(id string, version *stored, index uint64) *machine {
	i, found := m.find(id)
	end := i
	if found {
		end++
	}
	var versions []*stored
	if version != nil {
		versions = []*stored{version}
	}
	return makeMachine(m.name, max(m.index, index), slices.Concat(m.tasks[:i], versions, m.tasks[end:]), m.manifestList)
}

// withList returns the machine with another list.
func (m *machine) withList(list manifestList, index uint64) *machine {
	return makeMachine(m.name, max(m.index, index), m.tasks, list)
}

func (m *machine) find(id string) (int, bool) {
	return slices.BinarySearchFunc(m.tasks, id, func(task *stored, id string) int { return strings.Compare(task.id, id) })
}

// task returns a task, nil when it is not there. The machine may be nil.
func (m *machine) task(id string) *stored {
	if m == nil {
		return nil
	}
	if i, found := m.find(id); found {
		return m.tasks[i]
	}
	return nil
}

// manifest returns the manifest of a task, nil when it is not in the list.
func (m *machine) manifest(taskID string) *manifest {
	for i := range m.manifests {
		if m.manifests[i].id == taskID {
			return &m.manifests[i]
		}
	}
	return nil
}

// consistent reports whether the list has one manifest of the task, that of its
// stored version.
func (m *machine) consistent(task *stored) bool {
	times := 0
	for _, manifest := range m.manifests {
		if manifest.id == task.id {
			times++
		}
	}
	return times == 1 && m.manifest(task.id).madeFrom(task.task())
}

// eachOwner passes on the host ports of each task and of each manifest, until they
// are not wanted. Both count: they differ while a task is replaced or deleted.
func (m *machine) eachOwner(send func(taskID string, ports []int) bool) {
	for _, manifest := range m.manifests {
		if !send(manifest.id, manifest.ports) {
			return
		}
	}
	for _, task := range m.tasks {
		if !send(task.id, task.ports) {
			return
		}
	}
}

// checkPorts returns an api.HostPortTaken error when a task wants a host port that
// another task has on the machine.
func (m *machine) checkPorts(task *api.Task) (err error) {
	wanted := task.HostPorts()
	if len(wanted) == 0 {
		return nil
	}
	m.eachOwner(func(owner string, ports []int) bool {
		if owner == task.ID {
			return true
		}
		for _, port := range ports {
			if slices.Contains(wanted, port) {
				err = api.NewHostPortTaken(task.ID, port, m.name, owner)
				return false
			}
		}
		return true
	})
	return err
}

// with returns the list with a manifest in the place of its task's, or at the end if
// the task has none; nil if the list has it already.
func (m *machine) with(added manifest) []manifest {
	if there := m.manifest(added.id); there != nil && bytes.Equal(there.raw, added.raw) {
		return nil
	}
	return m.replacing(added)
}

// replacing is like with, but never nil: writing the list, even unchanged, makes the
// swaps of all who have read it before fail.
func (m *machine) replacing(added manifest) []manifest {
	var manifests []manifest
	placed := false
	for _, manifest := range m.manifests {
		switch {
		case manifest.id != added.id:
			manifests = append(manifests, manifest)
		case !placed:
			manifests = append(manifests, added)
			placed = true
		}
	}
	if !placed {
		manifests = append(manifests, added)
	}
	return manifests
}

// without returns the list without the manifests of a task.
func (m *machine) without(taskID string) []manifest {
	manifests := []manifest{}
	for _, manifest := range m.manifests {
		if manifest.id != taskID {
			manifests = append(manifests, manifest)
		}
	}
	return manifests
}

// fits reports whether no other task has one of the ports.
func (m *machine) fits(taskID string, ports []int) bool {
	return !slices.ContainsFunc(ports, func(port int) bool {
		owner := m.owners()[port]
		return owner != "" && owner != taskID
	})
}
