package mirror

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/values"
)

// Stored is a version of the value of a key: of an object, or of what should be one
// but cannot be decoded (D41). It is immutable.
type Stored struct {
	Place
	Key     string // of the value, or of the directory in its place
	Version uint64
	Created uint64
	Object  *storage.Object // nil if the value cannot be decoded
	ports   []int           // the host ports of a task
	Err     error           // why the value cannot be decoded
	Dir     bool
}

// MakeStored returns the value of an object.
func MakeStored(object *storage.Object) *Stored {
	p, meta := PlaceFor(object.Object), object.Meta()
	s := &Stored{Place: p, Key: p.Key(), Version: meta.ResourceVersion, Created: meta.CreationVersion, Object: object}
	if task := s.Task(); task != nil {
		s.ports = task.HostPorts()
	}
	return s
}

// ObjectIn returns the object, nil if it is absent or corrupt.
func (s *Stored) ObjectIn() *storage.Object {
	if s == nil {
		return nil
	}
	return s.Object
}

// Task returns the task, nil if the object is not a task or is corrupt.
func (s *Stored) Task() *api.Task {
	if s.Object == nil {
		return nil
	}
	task, _ := s.Object.Object.(*api.Task)
	return task
}

// decodeObject decodes the object in a key. Its id, and the machine of a task that is not
// a pod, are those of the key. If it has the version of cached, which may be nil, it is
// not decoded again.
func decodeObject(p Place, node *etcd.Node, cached *storage.Object) *Stored {
	if cached != nil && !node.Dir && cached.Version() == node.ModifiedIndex && cached.Meta().CreationVersion == node.CreatedIndex {
		return MakeStored(cached)
	}
	object := values.New(p.Of())
	task, isTask := object.(*api.Task)
	if isTask = isTask && IsTask(p.Of()); isTask {
		task.IsPod = p.IsPod()
	}
	if err := decode(p, node, object); err != nil {
		return &Stored{Place: p, Key: node.Key, Version: node.ModifiedIndex, Created: node.CreatedIndex, Err: err, Dir: node.Dir}
	}
	if isTask && !task.IsPod {
		task.CurrentState.Host = p.Machine
	}
	return MakeStored(storage.NewObject(object, node.ModifiedIndex, node.CreatedIndex))
}

// decode decodes the value of the key of an object.
func decode(p Place, node *etcd.Node, into api.Object) error {
	if node.Dir {
		return isDirectory(p.Kind, node)
	}
	read := values.DecodeWhole
	if IsTask(p.Of()) {
		read = values.Decode
	}
	err := read(node.Value, into)
	if task, ok := into.(*api.Task); ok && err == nil && task.CurrentState.Host != "" && !IsName(task.CurrentState.Host) {
		err = fmt.Errorf("a machine cannot have the name %s", api.Quote(task.CurrentState.Host))
	}
	if err != nil {
		return undecodable(p.Kind, node, err)
	}
	return nil
}

func isDirectory(kind api.Kind, node *etcd.Node) error {
	return &api.Error{Kind: api.Internal, Message: "the stored " + string(kind) + " (key " + KeyInWords(node.Key) + ") is a directory"}
}

func undecodable(kind api.Kind, node *etcd.Node, cause error) error {
	return &api.Error{Kind: api.Internal, Message: "the stored " + string(kind) + " (key " + KeyInWords(node.Key) + ") cannot be decoded",
		Err: &storage.Undecodable{Version: node.ModifiedIndex, Err: cause}}
}

// Host returns the machine that a task is on, "" if it has none or that is unknown.
func (s *Stored) Host() string {
	if task := s.Task(); task != nil && s.IsPod() {
		return task.CurrentState.Host
	}
	return s.Machine
}

// Misplaced returns the first node that is a value in the place of a directory, nil
// for none. A node may be nil.
func Misplaced(nodes ...*etcd.Node) *Stored {
	for _, node := range nodes {
		if node != nil && !node.Dir {
			return &Stored{Place: Place{Machine: machineOf(node.Key)}, Key: node.Key, Version: node.ModifiedIndex, Err: &api.Error{Kind: api.Internal,
				Message: "a value is stored in the place of a directory (key " + KeyInWords(node.Key) + ")"}}
		}
	}
	return nil
}

// Child returns a node in a directory by the last segment of its key, nil if it does
// not exist. The directory may be nil; its nodes are sorted by key.
func Child(directory *etcd.Node, name string) *etcd.Node {
	nodes := NodesOf(directory)
	i, found := slices.BinarySearchFunc(nodes, name, func(node *etcd.Node, name string) int {
		return strings.Compare(BaseName(node.Key), name)
	})
	if !found {
		return nil
	}
	return nodes[i]
}

// below returns a node below the root by its key, nil if it does not exist. The root
// may be nil.
func below(root *etcd.Node, key string) *etcd.Node {
	for name := range strings.SplitSeq(strings.TrimPrefix(key, registryKey), "/") {
		if name != "" {
			root = Child(root, name)
		}
	}
	return root
}

// NodesOf returns the nodes in a directory, which may be nil.
func NodesOf(directory *etcd.Node) etcd.Nodes {
	if directory == nil {
		return nil
	}
	return directory.Nodes
}
