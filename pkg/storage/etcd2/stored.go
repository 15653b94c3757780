package etcd2

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/conversion"
	"kube2014/pkg/storage"
)

// stored is a version of what is in a key: of an object, or of what should be one
// but cannot be decoded (D41). It is immutable.
type stored struct {
	place
	key     string // of the value, or of the directory in its place
	version uint64
	created uint64
	object  *storage.Object // nil if it cannot be decoded
	ports   []int           // the host ports of a task
	err     error           // why it cannot be decoded
	dir     bool
}

// makeStored returns the version of an object that has been written.
func makeStored(p place, object *storage.Object) *stored {
	meta := object.Meta()
	return (&stored{place: p, key: p.key(), version: meta.ResourceVersion, created: meta.CreationVersion}).with(object)
}

func (s *stored) with(object *storage.Object) *stored {
	s.object = object
	if task := s.task(); task != nil {
		s.ports = task.HostPorts()
	}
	return s
}

// task returns the task that it is, nil if it is none or cannot be decoded.
func (s *stored) task() *api.Task {
	if s.object == nil {
		return nil
	}
	task, _ := s.object.Object.(*api.Task)
	return task
}

// decodeObject decodes the object in a key. Its id, and the machine of a task, are
// those of the key. If it is the version that is known already, which may be nil, it
// is not decoded again.
func decodeObject(p place, node *etcd.Node, known *stored) *stored {
	s := &stored{place: p, key: node.Key, version: node.ModifiedIndex, created: node.CreatedIndex, dir: node.Dir}
	if known != nil && known.object != nil && !node.Dir && known.version == s.version && known.created == s.created {
		return s.with(known.object)
	}
	object := newObject(p.kind)
	if s.err = decode(p.kind, node, object); s.err != nil {
		return s
	}
	locate(object, p)
	return s.with(storage.NewObject(object, s.version, s.created))
}

func newObject(kind api.Kind) api.Object {
	switch kind {
	case api.TaskKind:
		return &api.Task{}
	case api.ControllerKind:
		return &api.ReplicationController{}
	case api.ServiceKind:
		return &api.Service{}
	}
	return &api.Endpoints{}
}

// locate gives an object the id, and a task the machine, of its key.
func locate(object api.Object, p place) {
	switch object := object.(type) {
	case *api.Task:
		object.ID, object.CurrentState.Host = p.id, p.machine
	case *api.ReplicationController:
		object.ID = p.id
	case *api.Service:
		object.ID = p.id
	case *api.Endpoints:
		object.Name = p.id
	}
}

// encode returns the compact JSON of an object, as it is stored: the key says the
// machine of a task.
func encode(object interface{}) (string, error) {
	if task, ok := object.(*api.Task); ok {
		unplaced := *task
		unplaced.CurrentState.Host = ""
		object = unplaced
	}
	data, err := v1beta1.Codec.Marshal(object)
	if err != nil {
		return "", &api.Error{Kind: api.Internal, Message: "the object cannot be encoded as JSON", Err: err}
	}
	return string(data), nil
}

// decode reads the value in a key; kind is the word for it.
func decode(kind api.Kind, node *etcd.Node, into interface{}) error {
	if node.Dir {
		return &api.Error{Kind: api.Internal, Message: "the stored " + string(kind) + " (key " + keyInWords(node.Key) + ") is a directory"}
	}
	if conversion.IndentedSize(node.Value) > maxStoredSize {
		return undecodable(kind, node, errTooDeep)
	}
	if err := v1beta1.Codec.Unmarshal([]byte(node.Value), into); err != nil {
		return undecodable(kind, node, err)
	}
	return nil
}

// maxStoredSize bounds an object's JSON when it is indented for an answer: another
// program may have stored what D33 refuses. A body of the largest size stays below
// it, although it is stored with the fields that it left out.
const maxStoredSize = 4 * conversion.MaxIndentedSize

var errTooDeep = fmt.Errorf("it would have more than %d bytes when indented", maxStoredSize)

func undecodable(kind api.Kind, node *etcd.Node, cause error) error {
	return &api.Error{Kind: api.Internal, Message: "the stored " + string(kind) + " (key " + keyInWords(node.Key) + ") cannot be decoded",
		Err: &storage.Undecodable{Version: node.ModifiedIndex, Err: cause}}
}

// misplaced returns the first of the nodes that is a value in the place of a
// directory, nil when there is none. A node may be nil.
func misplaced(nodes ...*etcd.Node) *stored {
	for _, node := range nodes {
		if node != nil && !node.Dir {
			return &stored{place: place{machine: machineOf(node.Key)}, key: node.Key, version: node.ModifiedIndex, err: &api.Error{Kind: api.Internal,
				Message: "a value is stored in the place of a directory (key " + keyInWords(node.Key) + ")"}}
		}
	}
	return nil
}

// child returns a node in a directory by the last segment of its key, nil when it is
// not there. The directory may be nil; its nodes are sorted by key.
func child(directory *etcd.Node, name string) *etcd.Node {
	nodes := nodesOf(directory)
	i, found := slices.BinarySearchFunc(nodes, name, func(node *etcd.Node, name string) int {
		return strings.Compare(baseName(node.Key), name)
	})
	if !found {
		return nil
	}
	return nodes[i]
}

// nodesOf returns what is in a directory, which may be nil.
func nodesOf(directory *etcd.Node) etcd.Nodes {
	if directory == nil {
		return nil
	}
	return directory.Nodes
}
