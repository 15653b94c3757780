package registry

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// encode returns an object's compact JSON.
func encode(object interface{}) (string, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return "", &api.Error{Kind: api.Internal, Message: "the object cannot be encoded as JSON", Err: err}
	}
	return string(data), nil
}

// decode reads the object in a key; kind is the word for it.
func decode(kind string, node *etcd.Node, into interface{}) error {
	if node.Dir {
		return &api.Error{Kind: api.Internal, Message: "the stored " + kind + " (key " + node.Key + ") is a directory"}
	}
	if err := json.Unmarshal([]byte(node.Value), into); err != nil {
		return &api.Error{Kind: api.Internal, Message: "the stored " + kind + " (key " + node.Key + ") cannot be decoded", Err: err}
	}
	return nil
}

// keyed is a wire type whose id is the last segment of its key, whatever its
// value says: another program may have written it.
type keyed interface {
	WithID(id string) interface{}
}

// listObjects decodes the objects in a directory, which are sorted by key. What
// is not an object is logged and left out.
func listObjects[Object keyed](registry *EtcdRegistry, kind string, directory *etcd.Node) []Object {
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

// getObject reads the object in a key.
func getObject[Object keyed](registry *EtcdRegistry, kind, key string) (*Object, error) {
	node, err := registry.readKey("get "+kind, key)
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
func (registry *EtcdRegistry) createObject(kind, key string, object interface{}) error {
	value, err := encode(object)
	if err != nil {
		return err
	}
	_, err = registry.mirror.Create(key, value, 0)
	if hasCode(err, alreadyExists) {
		return api.NewAlreadyExists(kind, baseName(key))
	}
	return failed("create "+kind, err)
}

// setObject writes an object to a key.
func (registry *EtcdRegistry) setObject(kind, key string, object interface{}) error {
	value, err := encode(object)
	if err != nil {
		return err
	}
	_, err = registry.mirror.Set(key, value, 0)
	return failed("update "+kind, err)
}

// deleteObject deletes a key.
func (registry *EtcdRegistry) deleteObject(kind, key string) error {
	_, err := registry.mirror.Delete(key, false)
	if hasCode(err, notFound) {
		return api.NewNotFound(kind, baseName(key))
	}
	return failed("delete "+kind, err)
}
