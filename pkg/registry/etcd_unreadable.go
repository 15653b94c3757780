package registry

import (
	"maps"
	"slices"
	"strings"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// unreadableKey is a key in etcd whose value is not what it should be (D41).
// Another program has written it: what this one writes can be read.
type unreadableKey struct {
	node *etcd.Node
	err  error
}

// misplacedDirectory returns the first of the nodes that is a value in the place
// of a directory, nil when there is none. A node may be nil.
func misplacedDirectory(nodes ...*etcd.Node) *unreadableKey {
	for _, node := range nodes {
		if node != nil && !node.Dir {
			return &unreadableKey{node, &api.Error{Kind: api.Internal, Message: "a value is stored in the place of a directory (key " + keyInWords(node.Key) + ")"}}
		}
	}
	return nil
}

// unreadableBelow returns what cannot be read in the directory of all keys, by
// key, but for what belongs to a machine.
func unreadableBelow(root *etcd.Node) map[string]unreadableKey {
	services := child(root, baseName(servicesKey))
	specs, endpoints := child(services, baseName(specsKey)), child(services, baseName(endpointsKey))
	controllers := child(root, baseName(controllersKey))
	found := map[string]unreadableKey{}
	for _, directory := range []*etcd.Node{root, child(root, baseName(hostsKey)), services, specs, endpoints, controllers} {
		if misplaced := misplacedDirectory(directory); misplaced != nil {
			found[directory.Key] = *misplaced
		}
	}
	addUnreadable[api.Service](found, serviceKind, specs)
	addUnreadable[api.Endpoints](found, api.EndpointsKind, endpoints)
	addUnreadable[api.ReplicationController](found, controllerKind, controllers)
	return found
}

func addUnreadable[Object any](found map[string]unreadableKey, kind api.Kind, directory *etcd.Node) {
	for _, node := range nodesOf(directory) {
		var object Object
		if err := decode(kind, node, &object); err != nil {
			found[node.Key] = unreadableKey{node, err}
		}
	}
}

// unreadable returns all keys that cannot be read, sorted.
func (c *contents) unreadable() []unreadableKey {
	found := slices.Collect(maps.Values(c.others))
	for _, task := range c.broken {
		found = append(found, unreadableKey{task.node, task.err})
	}
	for _, known := range c.machines {
		if known.state.badList != nil {
			found = append(found, *known.state.badList)
		}
	}
	slices.SortFunc(found, func(a, b unreadableKey) int { return strings.Compare(a.node.Key, b.node.Key) })
	return found
}

// whyPassedOver returns why a machine takes no new task: its list or one of its
// tasks cannot be read, so that nobody knows which host ports are taken (D41). It
// returns nil when all can be read.
func (c *contents) whyPassedOver(machine string) error {
	if badList := c.state(machine).badList; badList != nil {
		return badList.err
	}
	for _, task := range c.broken {
		if task.machine == machine {
			return task.err
		}
	}
	return nil
}

// unreadable returns all keys of the copy that cannot be read, sorted.
func (m *mirror) unreadable() []unreadableKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contents.unreadable()
}

// warnOfUnreadable logs the keys of the copy that cannot be read, and returns
// them.
func (registry *EtcdRegistry) warnOfUnreadable() []unreadableKey {
	keys := registry.mirror.unreadable()
	for _, key := range keys {
		registry.warnOnce(key.node, api.InFull(key.err))
	}
	return keys
}
