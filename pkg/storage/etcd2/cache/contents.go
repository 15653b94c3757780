package cache

import (
	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
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
// decoded again.
func decodeContents(root *etcd.Node, index uint64, machines map[string]*Machine, cached func(Place) *Stored) *contents {
	c := &contents{machines: map[string]*Machine{}, broken: map[string]*Stored{}}
	services := Child(root, BaseName(servicesKey))
	lists := map[api.Kind]*etcd.Node{
		api.ControllerKind: Child(root, BaseName(controllersKey)),
		api.ServiceKind:    Child(services, BaseName(specsKey)),
		api.EndpointsKind:  Child(services, BaseName(endpointsKey)),
	}
	hosts := Child(root, BaseName(hostsKey))
	for _, directory := range []*etcd.Node{root, hosts, services, lists[api.ControllerKind], lists[api.ServiceKind], lists[api.EndpointsKind]} {
		if bad := Misplaced(directory); bad != nil {
			c.add(bad)
		}
	}
	for kind, directory := range lists {
		for _, node := range NodesOf(directory) {
			p := Place{Kind: kind, ID: BaseName(node.Key)}
			c.add(decodeObject(p, node, cached(p)))
		}
	}
	for _, directory := range NodesOf(hosts) {
		name := BaseName(directory.Key)
		machine := DecodeMachine(name, directory, index, machines[name])
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
