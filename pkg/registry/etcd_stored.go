package registry

import (
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// storedTask is a version of a task in etcd. It is decoded once, when more than
// its key is needed. It is immutable.
type storedTask struct {
	node    *etcd.Node
	machine string

	once  sync.Once // guards what follows
	task  api.Task
	ports []int
	entry *taskEntry
	err   error
}

func (s *storedTask) id() string { return baseName(s.node.Key) }

func (s *storedTask) read() {
	s.once.Do(func() {
		task, err := decodeTask(s.machine, s.node)
		if err != nil {
			s.err = err
			return
		}
		s.task, s.ports = *task, hostPorts(*task)
		s.entry, s.err = makeTaskEntry(s.task, nil)
	})
}

// hostPorts returns the task's host ports, none if it cannot be decoded.
func (s *storedTask) hostPorts() []int {
	s.read()
	return s.ports
}

// findTask returns the place of a task among those of a machine.
func findTask(tasks []*storedTask, id string) (place int, found bool) {
	return slices.BinarySearchFunc(tasks, id, func(task *storedTask, id string) int {
		return strings.Compare(task.id(), id)
	})
}

// storedTasks returns the tasks in the directory of a machine. Those that have
// not changed are taken from the old ones.
func storedTasks(machine string, directory *etcd.Node, old []*storedTask) []*storedTask {
	dir := child(directory, "tasks")
	if dir == nil {
		return nil
	}
	tasks := make([]*storedTask, 0, len(dir.Nodes))
	for _, node := range dir.Nodes {
		if i, found := findTask(old, baseName(node.Key)); found && sameVersion(old[i].node, node) {
			tasks = append(tasks, old[i])
		} else {
			tasks = append(tasks, &storedTask{node: node, machine: machine})
		}
	}
	return tasks
}

// sameVersion reports whether two nodes of a key are the same. A node from the
// answer to a compare-and-swap has no created index.
func sameVersion(a, b *etcd.Node) bool {
	return a.ModifiedIndex == b.ModifiedIndex && a.CreatedIndex == b.CreatedIndex && a.Value == b.Value
}
