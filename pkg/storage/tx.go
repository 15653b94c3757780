package storage

import (
	"cmp"
	"errors"
	"slices"

	"kube2014/pkg/api"
)

// Tx is a change of a cache while it is made. It must not be used after the
// function that it was passed to.
type Tx struct {
	cache   *Cache
	version uint64
	events  []Event
}

// Update lets a function change the cache; nobody else sees the cache meanwhile. If
// the function fails, its changes are undone. If not, they become the next events,
// in their order.
func (c *Cache) Update(change func(*Tx) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	tx := &Tx{cache: c, version: c.version}
	done := false
	defer func() { // also after a panic
		if done {
			return
		}
		for _, event := range slices.Backward(tx.events) {
			c.swap(event.After, event.Before)
		}
	}()
	if err := change(tx); err != nil {
		return err
	}
	done = true
	c.version = tx.version
	if len(tx.events) > 0 {
		c.history.add(tx.events)
	}
	return nil
}

// Try returns the events that a change would make, and undoes it: nobody sees it. It may
// set the versions of the objects that it writes.
func (c *Cache) Try(change func(*Tx) error) (events []Event, err error) {
	err = c.Update(func(tx *Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		events = slices.Clone(tx.events)
		return errTried
	})
	if errors.Is(err, errTried) {
		err = nil
	}
	return events, err
}

var errTried = errors.New("the change was only tried")

// Apply makes a change as a store does that numbers its changes one by one, and returns
// the object that it wrote, if any.
func (tx *Tx) Apply(change Change) (*Object, error) {
	before := tx.Get(change.Kind, change.ID)
	if err := CheckExpected(change, before); err != nil {
		return nil, err
	}
	version := tx.Version() + 1
	switch {
	case change.Action == Write:
		if err := tx.CheckPorts(change.Object); err != nil {
			return nil, err
		}
		created := version
		if before != nil {
			created = before.Meta().CreationVersion
		}
		after := NewObject(change.Object, version, created)
		tx.Replace(before, after, version)
		return after, nil
	case change.Action == Remove && before != nil:
		tx.Replace(before, nil, version)
	}
	return nil, nil
}

// Get returns an object, nil if there is none.
func (tx *Tx) Get(kind api.Kind, id string) *Object { return tx.cache.get(kind, id) }

// Version returns the version after the changes so far.
func (tx *Tx) Version() uint64 { return tx.version }

// Skip counts a change that changes no object: the store then has the version.
func (tx *Tx) Skip(version uint64) { tx.version = version }

// CheckPorts returns an api.HostPortTaken error if the object is a task that wants a
// host port which another task on its machine has.
func (tx *Tx) CheckPorts(object api.Object) error {
	task, ok := object.(*api.Task)
	if !ok {
		return nil
	}
	machine := task.CurrentState.Host
	if port, owner := tx.cache.owner(machine, task.HostPorts(), task.ID); owner != nil {
		return api.NewHostPortTaken(task.ID, port, machine, owner.GetID())
	}
	return nil
}

// Replace puts a version of an object into the place of another one. Either may be
// nil: that there was none, or is none any more. The store then has the version.
func (tx *Tx) Replace(before, after *Object, version uint64) {
	event := Event{Type: Modified, Version: version, Before: before, After: after}
	switch {
	case before == nil:
		event.Type = Added
	case after == nil:
		event.Type = Deleted
	}
	tx.cache.swap(before, after)
	tx.version = version
	tx.events = append(tx.events, event)
}

// swap puts a version of an object into the place of another one. The caller holds
// the lock.
func (c *Cache) swap(before, after *Object) {
	kind := cmp.Or(after, before).GetKind()
	if c.kinds[kind] == nil {
		c.kinds[kind] = makeIndex()
	}
	c.kinds[kind].swap(before, after)
	for _, port := range HostPortsOf(before) {
		if c.ports[port] == before { // else it has a new owner already
			delete(c.ports, port)
		}
	}
	for _, port := range HostPortsOf(after) {
		c.ports[port] = after
	}
}

// HostPortsOf returns the host ports that an object, which may be nil, has: a pod without a
// machine has none.
func HostPortsOf(object *Object) []HostPort {
	if object == nil {
		return nil
	}
	task, ok := object.Object.(*api.Task)
	if !ok || task.CurrentState.Host == "" {
		return nil
	}
	var ports []HostPort
	for _, port := range task.HostPorts() {
		ports = append(ports, HostPort{task.CurrentState.Host, port})
	}
	return ports
}
