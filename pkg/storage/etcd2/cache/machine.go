package cache

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// Machine is what etcd held about one machine at one moment: its tasks, and the list
// of manifests that its kubelet reads. Nobody changes it.
type Machine struct {
	Name  string
	Index uint64    // etcd's index at that moment
	Tasks []*Stored // sorted by id
	manifestList
	owners    func() map[int]string // the ids of the tasks that have the host ports; made once
	Directory *etcd.Node            // of the machine, if it has just been read; the cache does not keep it
}

// manifestList is a machine's list of manifests.
type manifestList struct {
	Manifests   []Manifest
	ListVersion uint64  // 0 when there is no list
	Broken      *Stored // the list, or its directory, if it cannot be decoded
}

func makeMachine(name string, index uint64, tasks []*Stored, list manifestList) *Machine {
	m := &Machine{Name: name, Index: index, Tasks: tasks, manifestList: list}
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

// DecodeMachine decodes the directory of a machine, which may be nil. What has not
// changed since the one that is cached, which may be nil, is not decoded again.
func DecodeMachine(name string, directory *etcd.Node, index uint64, cached *Machine) *Machine {
	if cached == nil {
		cached = &Machine{}
	}
	var tasks []*Stored
	for _, node := range NodesOf(Child(directory, "tasks")) {
		id := BaseName(node.Key)
		tasks = append(tasks, decodeObject(Place{Kind: api.TaskKind, ID: id, Machine: name}, node, cached.Task(id)))
	}
	var list manifestList
	if bad := Misplaced(directory, Child(directory, "tasks")); bad != nil {
		list.Broken = bad
	} else if node := Child(directory, "kubelet"); node != nil {
		list = decodeList(name, node, cached.manifestList)
	}
	return makeMachine(name, index, tasks, list)
}

func decodeList(name string, node *etcd.Node, cached manifestList) manifestList {
	if !node.Dir && node.ModifiedIndex == cached.ListVersion {
		return cached
	}
	list := manifestList{ListVersion: node.ModifiedIndex}
	var err error
	if node.Dir {
		err = decode("list of manifests", node, nil)
	} else if list.Manifests, err = decodeManifests(node.Value); err != nil {
		err = undecodable("list of manifests", node, err)
	}
	if err != nil {
		list.Broken = &Stored{Place: Place{Machine: name}, Key: node.Key, Version: node.ModifiedIndex, Err: err}
	}
	return list
}

// WithTask returns the machine with another version of a task, nil for none.
func (m *Machine) WithTask(id string, version *Stored, index uint64) *Machine {
	i, found := m.find(id)
	end := i
	if found {
		end++
	}
	var versions []*Stored
	if version != nil {
		versions = []*Stored{version}
	}
	return makeMachine(m.Name, max(m.Index, index), slices.Concat(m.Tasks[:i], versions, m.Tasks[end:]), m.manifestList)
}

// withList returns the machine with another list.
func (m *Machine) withList(list manifestList, index uint64) *Machine {
	return makeMachine(m.Name, max(m.Index, index), m.Tasks, list)
}

func (m *Machine) find(id string) (int, bool) {
	return slices.BinarySearchFunc(m.Tasks, id, func(task *Stored, id string) int { return strings.Compare(task.ID, id) })
}

// Task returns a task, nil when it is not there. The machine may be nil.
func (m *Machine) Task(id string) *Stored {
	if m == nil {
		return nil
	}
	if i, found := m.find(id); found {
		return m.Tasks[i]
	}
	return nil
}

// Manifest returns the manifest of a task, nil when it is not in the list.
func (m *Machine) Manifest(taskID string) *Manifest {
	for i := range m.Manifests {
		if m.Manifests[i].ID == taskID {
			return &m.Manifests[i]
		}
	}
	return nil
}

// Consistent reports whether the list has one manifest of the task, that of its
// stored version.
func (m *Machine) Consistent(task *Stored) bool {
	times := 0
	for _, manifest := range m.Manifests {
		if manifest.ID == task.ID {
			times++
		}
	}
	return times == 1 && m.Manifest(task.ID).madeFrom(task.Task())
}

// eachOwner passes on the host ports of each task and of each manifest, until they
// are not wanted. Both count: they differ while a task is replaced or deleted.
func (m *Machine) eachOwner(send func(taskID string, ports []int) bool) {
	for _, manifest := range m.Manifests {
		if !send(manifest.ID, manifest.ports) {
			return
		}
	}
	for _, task := range m.Tasks {
		if !send(task.ID, task.ports) {
			return
		}
	}
}

// CheckPorts returns an api.HostPortTaken error when a task wants a host port that
// another task has on the machine.
func (m *Machine) CheckPorts(task *api.Task) (err error) {
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
				err = api.NewHostPortTaken(task.ID, port, m.Name, owner)
				return false
			}
		}
		return true
	})
	return err
}

// With returns the list with a manifest in the place of its task's, or at the end if
// the task has none; nil if the list has it already.
func (m *Machine) With(added Manifest) []Manifest {
	if there := m.Manifest(added.ID); there != nil && bytes.Equal(there.Raw, added.Raw) {
		return nil
	}
	return m.Replacing(added)
}

// Replacing is like with, but never nil: writing the list, even unchanged, makes the
// swaps of all who have read it before fail.
func (m *Machine) Replacing(added Manifest) []Manifest {
	var manifests []Manifest
	placed := false
	for _, manifest := range m.Manifests {
		switch {
		case manifest.ID != added.ID:
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

// Without returns the list without the manifests of a task.
func (m *Machine) Without(taskID string) []Manifest {
	manifests := []Manifest{}
	for _, manifest := range m.Manifests {
		if manifest.ID != taskID {
			manifests = append(manifests, manifest)
		}
	}
	return manifests
}

// Fits reports whether no other task has one of the ports.
func (m *Machine) Fits(taskID string, ports []int) bool {
	return !slices.ContainsFunc(ports, func(port int) bool {
		owner := m.owners()[port]
		return owner != "" && owner != taskID
	})
}
