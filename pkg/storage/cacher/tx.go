package cacher

import (
	"cmp"
	"errors"
	"slices"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Tx is a transaction on a cache. It must not be used after the function that received
// it has returned.
type Tx struct {
	cache   *Cache
	version uint64
	events  []storage.Event
}

// Update calls a function with exclusive access to the cache. If it fails, its changes
// are undone. Otherwise they become the next events, in order.
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
	c.record(tx.events)
	return nil
}

// Try makes a change, undoes it, and returns its events: no reader sees it. It may set
// the versions of the objects that the change writes.
func (c *Cache) Try(change func(*Tx) error) (events []storage.Event, err error) {
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

// Apply makes a change at the next version, and returns the written object, nil if there
// is none.
func (tx *Tx) Apply(change storage.Change) (*storage.Object, error) {
	before := tx.Get(change.Key)
	if err := storage.CheckExpected(change, before); err != nil {
		return nil, err
	}
	version := tx.Version() + 1
	switch {
	case change.Action == storage.Write:
		if err := tx.cache.claims.check(change.Object); err != nil {
			return nil, err
		}
		created := version
		if before != nil {
			created = before.Meta().CreationVersion
		}
		after := storage.NewObject(change.Object, version, created)
		tx.Replace(before, after, version)
		return after, nil
	case change.Action == storage.Remove && before != nil:
		tx.Replace(before, nil, version)
	}
	return nil, nil
}

// Get returns an object, nil if there is none.
func (tx *Tx) Get(key api.Key) *storage.Object { return tx.cache.kind(key.Kind).get(key) }

// Version returns the version after the changes so far.
func (tx *Tx) Version() uint64 { return tx.version }

// Skip sets the version after a change that affects no object.
func (tx *Tx) Skip(version uint64) { tx.version = version }

// Replace replaces a version of an object by another one, and sets the version. before is
// nil for a new object, after for a deleted one.
func (tx *Tx) Replace(before, after *storage.Object, version uint64) {
	tx.cache.swap(before, after)
	tx.version = version
	tx.events = append(tx.events, storage.MakeEvent(before, after, version))
}

// swap replaces a version of an object by another one. The caller holds the lock.
func (c *Cache) swap(before, after *storage.Object) {
	c.keep(cmp.Or(after, before).Key().Kind).swap(before, after)
	if before != nil {
		c.claims.remove(before.Object)
	}
	if after != nil {
		c.claims.add(after.Object)
	}
}
