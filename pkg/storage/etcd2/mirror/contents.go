package mirror

import (
	"iter"
	"maps"
	"slices"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/storage"
	"kube2014/pkg/storage/cacher"
)

// contents is everything in /registry.
type contents struct {
	objects  []*storage.Object
	machines map[string]*Machine
	broken   map[string]*Stored
}

func (c *contents) add(s *Stored) {
	if s.Object != nil {
		c.objects = append(c.objects, s.Object)
	} else if s.Err != nil {
		c.broken[s.Key] = s
	}
}

// decodeContents decodes /registry, which may be nil. It does not decode cached
// values again; if machines is empty, it ignores all cached values.
func decodeContents(root *etcd.Node, version uint64, machines map[string]*Machine, objects *cacher.Cache) *contents {
	c := &contents{machines: map[string]*Machine{}, broken: map[string]*Stored{}}
	for _, key := range slices.AppendSeq([]string{registryKey, hostsKey, servicesKey, objectsKey}, maps.Values(directories)) {
		if bad := Misplaced(below(root, key)); bad != nil {
			c.add(bad)
		}
	}
	pods := map[string][]*Stored{} // by machine
	for node := range objectNodes(root) {
		if p, ours, _ := placeOf(node.Key); ours {
			var cached *storage.Object
			if len(machines) > 0 {
				cached = objectAt(objects, p)
			}
			stored := decodeObject(p, node, cached)
			if p.IsPod() {
				pods[stored.Host()] = append(pods[stored.Host()], stored)
			} else {
				c.add(stored)
			}
		}
	}
	hosts := map[string]*etcd.Node{}
	for name := range pods {
		hosts[name] = nil
	}
	for _, directory := range NodesOf(below(root, hostsKey)) {
		hosts[BaseName(directory.Key)] = directory
	}
	for name, directory := range hosts {
		machine := DecodeMachine(name, directory, version, machines[name], pods[name])
		c.machines[name] = machine
		for _, task := range machine.Tasks {
			c.add(task)
		}
		if machine.Broken != nil {
			c.add(machine.Broken)
		}
	}
	return c
}

// objectNodes yields the nodes that may be objects, except the tasks in the directory of a machine.
func objectNodes(root *etcd.Node) iter.Seq[*etcd.Node] {
	return func(send func(*etcd.Node) bool) {
		for _, directory := range directories {
			for _, node := range NodesOf(below(root, directory)) {
				if !send(node) {
					return
				}
			}
		}
		leaves(below(root, objectsKey), send)
	}
}

// leaves yields the values in a directory, which may be nil, and below it. It returns false as soon
// as send does.
func leaves(directory *etcd.Node, send func(*etcd.Node) bool) bool {
	for _, node := range NodesOf(directory) {
		if node.Dir && !leaves(node, send) || !node.Dir && !send(node) {
			return false
		}
	}
	return true
}

// objectAt returns the object in a place, nil if it is absent or corrupt.
func objectAt(objects *cacher.Cache, p Place) *storage.Object {
	for _, object := range objects.All(p.Of()) {
		if PlaceFor(object.Object) == p {
			return object
		}
	}
	return nil
}
