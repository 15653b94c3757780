package cache

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

// Stored is a version of what is in a key: of an object, or of what should be one
// but cannot be decoded (D41). It is immutable.
type Stored struct {
	Place
	Key     string // of the value, or of the directory in its place
	Version uint64
	Created uint64
	Object  *storage.Object // nil if it cannot be decoded
	ports   []int           // the host ports of a task
	Err     error           // why it cannot be decoded
	Dir     bool
}

// MakeStored returns an object that is in its place.
func MakeStored(p Place, object *storage.Object) *Stored {
	meta := object.Meta()
	s := &Stored{Place: p, Key: p.Key(), Version: meta.ResourceVersion, Created: meta.CreationVersion, Object: object}
	if task := s.Task(); task != nil {
		s.ports = task.HostPorts()
	}
	return s
}

// ObjectIn returns the object, nil if there is none or it cannot be decoded.
func (s *Stored) ObjectIn() *storage.Object {
	if s == nil {
		return nil
	}
	return s.Object
}

// Task returns the task that it is, nil if it is none or cannot be decoded.
func (s *Stored) Task() *api.Task {
	if s.Object == nil {
		return nil
	}
	task, _ := s.Object.Object.(*api.Task)
	return task
}

// decodeObject decodes the object in a key. Its id, and the machine of a task, are
// those of the key. If it is the version that is cached, which may be nil, it is not
// decoded again.
func decodeObject(p Place, node *etcd.Node, cached *Stored) *Stored {
	if cached.ObjectIn() != nil && !node.Dir && cached.Version == node.ModifiedIndex && cached.Created == node.CreatedIndex {
		return cached
	}
	object, id := newObject(p.Kind)
	if err := decode(p.Kind, node, object); err != nil {
		return &Stored{Place: p, Key: node.Key, Version: node.ModifiedIndex, Created: node.CreatedIndex, Err: err, Dir: node.Dir}
	}
	*id = p.ID
	if task, ok := object.(*api.Task); ok {
		task.CurrentState.Host = p.Machine
	}
	return MakeStored(p, storage.NewObject(object, node.ModifiedIndex, node.CreatedIndex))
}

// newObject returns an empty object, and where its id is.
func newObject(kind api.Kind) (object api.Object, id *string) {
	switch kind {
	case api.TaskKind:
		task := &api.Task{}
		return task, &task.ID
	case api.ControllerKind:
		controller := &api.ReplicationController{}
		return controller, &controller.ID
	case api.ServiceKind:
		service := &api.Service{}
		return service, &service.ID
	}
	endpoints := &api.Endpoints{}
	return endpoints, &endpoints.Name
}

// Encode returns the compact JSON of an object, as it is stored: the key says the
// machine of a task.
func Encode(object interface{}) (string, error) {
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
		return &api.Error{Kind: api.Internal, Message: "the stored " + string(kind) + " (key " + KeyInWords(node.Key) + ") is a directory"}
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
	return &api.Error{Kind: api.Internal, Message: "the stored " + string(kind) + " (key " + KeyInWords(node.Key) + ") cannot be decoded",
		Err: &storage.Undecodable{Version: node.ModifiedIndex, Err: cause}}
}

// Misplaced returns the first of the nodes that is a value in the place of a
// directory, nil when there is none. A node may be nil.
func Misplaced(nodes ...*etcd.Node) *Stored {
	for _, node := range nodes {
		if node != nil && !node.Dir {
			return &Stored{Place: Place{Machine: machineOf(node.Key)}, Key: node.Key, Version: node.ModifiedIndex, Err: &api.Error{Kind: api.Internal,
				Message: "a value is stored in the place of a directory (key " + KeyInWords(node.Key) + ")"}}
		}
	}
	return nil
}

// Child returns a node in a directory by the last segment of its key, nil when it is
// not there. The directory may be nil; its nodes are sorted by key.
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

// below returns a node below the root by its key, nil when it is not there. The root
// may be nil.
func below(root *etcd.Node, key string) *etcd.Node {
	for name := range strings.SplitSeq(strings.TrimPrefix(key, registryKey), "/") {
		if name != "" {
			root = Child(root, name)
		}
	}
	return root
}

// NodesOf returns what is in a directory, which may be nil.
func NodesOf(directory *etcd.Node) etcd.Nodes {
	if directory == nil {
		return nil
	}
	return directory.Nodes
}
