package storage

import (
	"slices"
	"sync"

	"kube2014/pkg/api"
)

// Cache holds the objects of a store by id, by label and by host port, and the
// last changes. It is safe for concurrent use.
type Cache struct {
	mu       sync.RWMutex // guards what follows
	version  uint64
	expected uint64 // the store has this version too
	kinds    map[api.Kind]*index
	ports    map[HostPort]*Object
	history  history
}

var _ Reader = (*Cache)(nil)

// HostPort is a port of a machine.
type HostPort struct {
	Machine string
	Port    int
}

// NewCache returns an empty cache, of a store that has this version.
func NewCache(version uint64) *Cache {
	return &Cache{
		version: version,
		kinds:   map[api.Kind]*index{},
		ports:   map[HostPort]*Object{},
		history: makeHistory(version),
	}
}

// Get implements Reader.
func (c *Cache) Get(kind api.Kind, id string) (*Object, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if object := c.get(kind, id); object != nil {
		return object, nil
	}
	return nil, api.NewNotFound(kind, id)
}

// All returns the objects that have an id, sorted by machine: in a store that other
// programs write to there may be several tasks.
func (c *Cache) All(kind api.Kind, id string) (all []*Object) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if objects := c.kinds[kind]; objects != nil {
		objects.each(id, func(object *Object) bool {
			all = append(all, object)
			return true
		})
	}
	return all
}

// Reset puts other objects into the place of all, as of a version of the store. The
// history begins anew: whoever watches is cut off.
func (c *Cache) Reset(version uint64, objects []*Object) {
	fresh := NewCache(version) // others use the old ones meanwhile
	for _, object := range objects {
		fresh.swap(nil, object)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version, c.expected, c.kinds, c.ports = version, 0, fresh.kinds, fresh.ports
	c.history.restart(version)
}

// Expect says that the store has a version of which the cache has not heard yet: whoever
// has been told of it can watch from there on.
func (c *Cache) Expect(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = max(c.expected, version)
}

// get returns an object, nil if there is none.
func (c *Cache) get(kind api.Kind, id string) *Object {
	if objects := c.kinds[kind]; objects != nil {
		return objects.get(id)
	}
	return nil
}

// List implements Reader.
func (c *Cache) List(kind api.Kind, labels map[string]string) (*List, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	list := &List{Kind: kind, Version: c.version}
	if objects := c.kinds[kind]; objects != nil {
		list.Items = objects.list(labels)
	}
	return list, nil
}

// FirstFree implements Reader. Its cost depends on the machines that it passes
// over, not on the number of tasks.
func (c *Cache) FirstFree(machines []string, task api.Task) (string, error) {
	ports := task.HostPorts()
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, machine := range machines {
		if _, owner := c.owner(machine, ports, task.ID); owner == nil {
			return machine, nil
		}
	}
	return "", nil
}

// owner returns the first of the host ports that a task on the machine has, apart
// from the one with the id, and that task; nil if there is none.
func (c *Cache) owner(machine string, ports []int, apart string) (int, *Object) {
	for _, port := range ports {
		if owner := c.ports[HostPort{machine, port}]; owner != nil && owner.GetID() != apart {
			return port, owner
		}
	}
	return 0, nil
}

// Version implements Reader.
func (c *Cache) Version() (uint64, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.version, nil
}

// ListAt implements Reader. It takes back what the history has since the version.
func (c *Cache) ListAt(kind api.Kind, version uint64) (*List, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if version < c.history.since || version > c.version {
		return nil, expired(version, c.history.since)
	}
	then := map[string]*Object{} // of the objects that have changed since; nil for none
	for _, event := range slices.Backward(c.history.events) {
		if event.Version <= version {
			break
		}
		if event.kind() != kind {
			continue
		}
		if event.After != nil {
			then[nameOf(event.After)] = nil
		}
		if event.Before != nil {
			then[nameOf(event.Before)] = event.Before
		}
	}
	objects := c.kinds[kind]
	if objects == nil {
		objects = makeIndex()
	}
	return &List{Kind: kind, Version: version, Items: objects.listAt(then)}, nil
}
