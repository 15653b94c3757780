package cache

import (
	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/storage"
)

// contents is all that is in /registry.
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

// decodeContents decodes /registry, which may be nil. What is cached already is not
// decoded again; without machines, nothing that is cached counts.
func decodeContents(root *etcd.Node, version uint64, machines map[string]*Machine, objects *storage.Cache) *contents {
	c := &contents{machines: map[string]*Machine{}, broken: map[string]*Stored{}}
	for _, key := range []string{registryKey, hostsKey, servicesKey, controllersKey, specsKey, endpointsKey} {
		if bad := Misplaced(below(root, key)); bad != nil {
			c.add(bad)
		}
	}
	for kind, directory := range directories {
		for _, node := range NodesOf(below(root, directory)) {
			p := Place{Kind: kind, ID: BaseName(node.Key)}
			var cached *Stored
			if object, err := objects.Get(kind, p.ID); err == nil && len(machines) > 0 {
				cached = MakeStored(p, object)
			}
			c.add(decodeObject(p, node, cached))
		}
	}
	for _, directory := range NodesOf(below(root, hostsKey)) {
		name := BaseName(directory.Key)
		machine := DecodeMachine(name, directory, version, machines[name])
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
