package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/conversion"
)

// encode returns an object's compact JSON.
func encode(object interface{}) (string, error) {
	data, err := v1beta1.Codec.Marshal(object)
	if err != nil {
		return "", &api.Error{Kind: api.Internal, Message: "the object cannot be encoded as JSON", Err: err}
	}
	return string(data), nil
}

// decode reads the object in a key; kind is the word for it.
func decode(kind api.Kind, node *etcd.Node, into interface{}) error {
	if node.Dir {
		return &api.Error{Kind: api.Internal, Message: "the stored " + string(kind) + " (key " + keyInWords(node.Key) + ") is a directory"}
	}
	if conversion.IndentedSize(node.Value) > maxStoredSize {
		return undecodable(kind, node.Key, errTooDeep)
	}
	if err := v1beta1.Codec.Unmarshal([]byte(node.Value), into); err != nil {
		return undecodable(kind, node.Key, err)
	}
	return nil
}

// maxStoredSize bounds an object's JSON when it is indented for an answer: another
// program may have stored what D33 refuses. A body of the largest size stays below
// it, although it is stored with the fields that it left out.
const maxStoredSize = 4 * conversion.MaxIndentedSize

var errTooDeep = fmt.Errorf("it would have more than %d bytes when indented", maxStoredSize)

func undecodable(kind api.Kind, key string, cause error) error {
	return &api.Error{Kind: api.Internal, Message: "the stored " + string(kind) + " (key " + keyInWords(key) + ") cannot be decoded", Err: cause}
}

// keyInWords returns a key in a form that is fit for an error: another program may
// have written any key.
func keyInWords(key string) string {
	const limit = 400
	if len(key) > limit {
		key = key[:limit] + "..."
	}
	return api.Printable(key, '?')
}

// keyed is a wire type whose id is the last segment of its key, whatever its
// value says: another program may have written it.
type keyed interface {
	WithID(id string) interface{}
}

// decodeAll decodes the objects in a directory, which are sorted by key. What
// is not an object is logged and left out.
func decodeAll[Object keyed](registry *EtcdRegistry, kind api.Kind, directory *etcd.Node) []Object {
	objects := []Object{}
	if directory == nil {
		return objects
	}
	for _, node := range directory.Nodes {
		var object Object
		if err := decode(kind, node, &object); err != nil {
			registry.warnOnce(node, api.InFull(err))
			continue
		}
		objects = append(objects, object.WithID(baseName(node.Key)).(Object))
	}
	return objects
}

// readKey returns the node of a key, nil when it is not there.
func (registry *EtcdRegistry) readKey(operation, key string) (*etcd.Node, error) {
	resp, err := registry.mirror.Get(key, false, false)
	if hasCode(err, notFound) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(operation, err)
	}
	return resp.Node, nil
}

// readDirectory returns a directory with all that is in it, sorted by key; nil
// when it is not there.
func (registry *EtcdRegistry) readDirectory(operation, key string) (*etcd.Node, uint64, error) {
	resp, err := registry.mirror.Get(key, true, true)
	if hasCode(err, notFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, failed(operation, err)
	}
	return resp.Node, resp.EtcdIndex, nil
}

// child returns a node in a directory by the last segment of its key, nil when
// it is not there.
func child(directory *etcd.Node, name string) *etcd.Node {
	if directory == nil {
		return nil
	}
	return named(directory.Nodes, name)
}

// nodesOf returns what is in a directory, which may be nil.
func nodesOf(directory *etcd.Node) etcd.Nodes {
	if directory == nil {
		return nil
	}
	return directory.Nodes
}

// named returns the node whose key ends in a name, nil when there is none. The
// nodes are sorted by key and lie in one directory.
func named(nodes []*etcd.Node, name string) *etcd.Node {
	i, found := slices.BinarySearchFunc(nodes, name, func(node *etcd.Node, name string) int {
		return strings.Compare(baseName(node.Key), name)
	})
	if !found {
		return nil
	}
	return nodes[i]
}

// readObject reads the object in a key.
func readObject[Object keyed](registry *EtcdRegistry, kind api.Kind, key string) (*Object, error) {
	node, err := registry.readKey("get "+string(kind), key)
	if err != nil {
		return nil, err
	}
	if node == nil {
		return nil, api.NewNotFound(kind, baseName(key))
	}
	var object Object
	if err := decode(kind, node, &object); err != nil {
		return nil, err
	}
	object = object.WithID(baseName(key)).(Object)
	return &object, nil
}

// createObject writes an object to a key that is not there.
func (registry *EtcdRegistry) createObject(kind api.Kind, key string, object interface{}) error {
	value, err := encode(object)
	if err != nil {
		return err
	}
	_, err = registry.mirror.Create(key, value, 0)
	if hasCode(err, alreadyExists) {
		return api.NewAlreadyExists(kind, baseName(key))
	}
	return failed("create "+string(kind), err)
}

// putObject replaces the object in a key, or creates it. It compares and swaps
// (D43): a call that etcd carries out late overwrites nothing newer. When others
// change the key first each time, the error is an api.Conflict one.
func (registry *EtcdRegistry) putObject(kind api.Kind, key string, object interface{}) error {
	value, err := encode(object)
	if err != nil {
		return err
	}
	for budget := registry.startBudget(); ; {
		swapped, err := registry.replaceObject(kind, key, value, budget)
		if err != nil || swapped {
			return err
		}
		if registry.now().Sub(budget.began) > swapTime {
			return api.NewConflict("%s %s is changed by too many others at once", kind, api.Quote(baseName(key)))
		}
	}
}

// replaceObject is one attempt to write the value of a key; it returns false when
// somebody else changed the key meanwhile.
func (registry *EtcdRegistry) replaceObject(kind api.Kind, key, value string, budget requestBudget) (bool, error) {
	operation := "update " + string(kind)
	node, err := registry.readKey(operation, key)
	if err == nil {
		err = budget.left(operation)
	}
	switch {
	case err != nil:
		return false, err
	case node == nil:
		_, err = registry.mirror.Create(key, value, 0)
	case node.Dir:
		return false, decode(kind, node, nil)
	default:
		_, err = registry.mirror.CompareAndSwap(key, value, 0, "", node.ModifiedIndex)
	}
	if hasCode(err, alreadyExists, compareFailed, notFound) {
		return false, nil
	}
	return err == nil, failed(operation, err)
}

// setObject writes an object to a key, whatever is there.
func (registry *EtcdRegistry) setObject(kind api.Kind, key string, object interface{}) error {
	value, err := encode(object)
	if err != nil {
		return err
	}
	_, err = registry.mirror.Set(key, value, 0)
	return failed("update "+string(kind), err)
}

// deleteObject deletes a key.
func (registry *EtcdRegistry) deleteObject(kind api.Kind, key string) error {
	_, err := registry.mirror.Delete(key, false)
	if hasCode(err, notFound) {
		return api.NewNotFound(kind, baseName(key))
	}
	return failed("delete "+string(kind), err)
}
