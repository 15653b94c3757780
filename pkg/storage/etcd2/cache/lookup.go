package cache

import (
	"maps"
	"slices"
	"strings"

	"kube2014/pkg/api"
)

// machine returns a machine, which may be empty. The caller holds the lock.
func (c *Cache) machine(name string) *Machine {
	if machine := c.machines[name]; machine != nil {
		return machine
	}
	return makeMachine(name, 0, nil, manifestList{})
}

// stored returns what can be decoded in a place, nil for nothing. The caller holds
// the lock.
func (c *Cache) stored(p Place) *Stored {
	if p.Kind == api.TaskKind {
		return c.machine(p.Machine).Task(p.ID)
	}
	if object, err := c.Objects.Get(p.Kind, p.ID); err == nil {
		return MakeStored(p, object)
	}
	return nil
}

// Unreadable returns all that cannot be decoded, sorted by key.
func (c *Cache) Unreadable() []*Stored {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*Stored
	for _, s := range c.broken {
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b *Stored) int { return strings.Compare(a.Key, b.Key) })
	return found
}

// Copies returns what is stored under an id: several versions if other programs have
// put a task on several machines. What cannot be decoded comes first.
func (c *Cache) Copies(kind api.Kind, id string) []*Stored {
	copies := c.brokenCopies(kind, id)
	for _, object := range c.Objects.All(kind, id) {
		p := Place{Kind: kind, ID: id}
		if task, ok := object.Object.(*api.Task); ok {
			p.Machine = task.CurrentState.Host
		}
		copies = append(copies, MakeStored(p, object))
	}
	return copies
}

// brokenCopies returns the objects that cannot be decoded and have an id, sorted by
// key.
func (c *Cache) brokenCopies(kind api.Kind, id string) []*Stored {
	return slices.DeleteFunc(c.Unreadable(), func(s *Stored) bool { return s.Kind != kind || s.ID != id })
}

// Machines returns all machines, by name.
func (c *Cache) Machines() map[string]*Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.machines)
}

// Machine returns a machine, which may be empty.
func (c *Cache) Machine(name string) *Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine(name)
}
