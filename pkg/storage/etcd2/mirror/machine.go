package mirror

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage/etcd2/manifestlist"
)

// Machine is etcd's data of one machine at one moment: its tasks, including its pods,
// and the list of manifests that its kubelet reads. It is immutable.
type Machine struct {
	Name    string    // "" for the pods that have no machine, or that are corrupt
	Version uint64    // etcd's at that moment
	Tasks   []*Stored // sorted by id; if a task and a pod share an id, the task is first
	manifestList
	owners    func() map[int]string // the tasks that own the host ports; computed once
	Directory *etcd.Node            // of the machine, if it has just been read; not cached
}

// manifestList is a machine's list of manifests.
type manifestList struct {
	Manifests   []manifestlist.Manifest
	ListVersion uint64  // 0 if there is no list
	Broken      *Stored // the list, or its directory, if it is corrupt
}

func makeMachine(name string, version uint64, tasks []*Stored, list manifestList) *Machine {
	m := &Machine{Name: name, Version: version, Tasks: tasks, manifestList: list}
	m.owners = sync.OnceValue(func() map[int]string {
		owners := map[int]string{}
		for taskID, ports := range m.eachOwner {
			for _, port := range ports {
				owners[port] = taskID
			}
		}
		return owners
	})
	return m
}

// DecodeMachine decodes the directory of a machine, which may be nil, and adds its
// pods. It does not decode again what has not changed since cached, which may be nil.
func DecodeMachine(name string, directory *etcd.Node, version uint64, cached *Machine, pods []*Stored) *Machine {
	if cached == nil {
		cached = &Machine{}
	}
	tasks := slices.Clone(pods)
	for _, node := range NodesOf(Child(directory, "tasks")) {
		p := taskPlace(name, BaseName(node.Key))
		tasks = append(tasks, decodeObject(p, node, cached.At(p).ObjectIn()))
	}
	slices.SortFunc(tasks, func(a, b *Stored) int { return compare(a.Place, b.Place) })
	var list manifestList
	if bad := Misplaced(directory, Child(directory, "tasks")); bad != nil {
		list.Broken = bad
	} else if node := Child(directory, "kubelet"); node != nil {
		list = decodeList(name, node, cached.manifestList)
	}
	return makeMachine(name, version, tasks, list)
}

func decodeList(name string, node *etcd.Node, cached manifestList) manifestList {
	if !node.Dir && node.ModifiedIndex == cached.ListVersion {
		return cached
	}
	list := manifestList{ListVersion: node.ModifiedIndex}
	var err error
	if node.Dir {
		err = isDirectory("list of manifests", node)
	} else if list.Manifests, err = manifestlist.Decode(node.Value); err != nil {
		err = undecodable("list of manifests", node, err)
	}
	if err != nil {
		list.Broken = &Stored{Place: Place{Machine: name}, Key: node.Key, Version: node.ModifiedIndex, Err: err}
	}
	return list
}

// WithTask returns the machine with the task in a place replaced, or removed if the new
// task is nil.
func (m *Machine) WithTask(p Place, task *Stored, version uint64) *Machine {
	i, found := m.find(p)
	tasks := slices.Clone(m.Tasks)
	if found {
		tasks = slices.Delete(tasks, i, i+1)
	}
	if task != nil {
		tasks = slices.Insert(tasks, i, task)
	}
	return makeMachine(m.Name, version, tasks, m.manifestList)
}

func (m *Machine) find(p Place) (int, bool) {
	return slices.BinarySearchFunc(m.Tasks, p, func(task *Stored, p Place) int { return compare(task.Place, p) })
}

// compare orders the tasks of a machine by id, and a task before the pod of its id, whose place has no machine.
func compare(a, b Place) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(b.Machine, a.Machine))
}

// At returns what is stored in a task's place, nil if nothing is. The machine may be nil.
func (m *Machine) At(p Place) *Stored {
	if m == nil {
		return nil
	}
	if i, found := m.find(p); found {
		return m.Tasks[i]
	}
	return nil
}

// Task returns the machine's task with an id, or else its pod; nil for none.
func (m *Machine) Task(id string) *Stored {
	if task := m.At(taskPlace(m.Name, id)); task != nil {
		return task
	}
	return m.At(PodPlace(id))
}

func (m *Machine) pods() []*Stored {
	return slices.DeleteFunc(slices.Clone(m.Tasks), func(task *Stored) bool { return !task.IsPod() })
}

// mayHavePods reports whether the list has a manifest of no known task or pod of the
// machine.
func (m *Machine) mayHavePods() bool {
	return slices.ContainsFunc(m.Manifests, func(manifest manifestlist.Manifest) bool { return m.Task(manifest.ID) == nil })
}

// Manifest returns the manifest of a task, nil if it is not in the list.
func (m *Machine) Manifest(taskID string) *manifestlist.Manifest {
	if i := slices.IndexFunc(m.Manifests, isOf(taskID)); i >= 0 {
		return &m.Manifests[i]
	}
	return nil
}

func isOf(taskID string) func(manifestlist.Manifest) bool {
	return func(manifest manifestlist.Manifest) bool { return manifest.ID == taskID }
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
	return times == 1 && m.Manifest(task.ID).Matches(task.Task())
}

// eachOwner yields the host ports of each task and of each manifest. Both count:
// they differ while a task is replaced or deleted.
func (m *Machine) eachOwner(yield func(taskID string, ports []int) bool) {
	for _, manifest := range m.Manifests {
		if !yield(manifest.ID, manifest.Ports) {
			return
		}
	}
	for _, task := range m.Tasks {
		if !yield(task.ID, task.ports) {
			return
		}
	}
}

// CheckPorts returns an api.HostPortTaken error if another task on the machine owns
// a host port of a task.
func (m *Machine) CheckPorts(task *api.Task) error {
	wanted := task.HostPorts()
	for owner, ports := range m.eachOwner {
		for _, port := range ports {
			if owner != task.ID && slices.Contains(wanted, port) {
				return api.NewHostPortTaken(task.ID, port, m.Name, owner)
			}
		}
	}
	return nil
}

// Fits reports whether no other task owns one of the ports.
func (m *Machine) Fits(taskID string, ports []int) bool {
	return !slices.ContainsFunc(ports, func(port int) bool {
		owner := m.owners()[port]
		return owner != "" && owner != taskID
	})
}

// With returns the list with a manifest in place of the task's earlier one, or at
// the end if there is none.
func (m *Machine) With(added manifestlist.Manifest) []manifestlist.Manifest {
	manifests := m.Without(added.ID)
	i := slices.IndexFunc(m.Manifests, isOf(added.ID))
	if i < 0 {
		i = len(manifests)
	}
	return slices.Insert(manifests, i, added)
}

// Without returns the list without the manifests of a task. It is never nil.
func (m *Machine) Without(taskID string) []manifestlist.Manifest {
	manifests := append(make([]manifestlist.Manifest, 0, len(m.Manifests)+1), m.Manifests...) // one more may be added
	return slices.DeleteFunc(manifests, isOf(taskID))
}
