// Package cacher keeps the objects of a store in memory, with their recent changes, for readers and watchers. It is what
// Kubernetes has under the same name.
package cacher

import (
	"iter"
	"slices"
	"sync"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Cache holds the objects of a store by key, by label and by claim, and their
// recent changes. It is safe for concurrent use.
type Cache struct {
	mu       sync.RWMutex // guards the fields below
	version  uint64
	expected uint64 // the store has at least this version
	since    uint64 // the cache has received all changes after this version
	kinds    map[api.Kind]*watchCache
	claims   claims
	size     int // of all histories, in bytes
}

var _ storage.Reader = (*Cache)(nil)

// New returns an empty cache of a store with this version.
func New(version uint64) *Cache {
	return &Cache{version: version, since: version, kinds: map[api.Kind]*watchCache{}, claims: claims{}}
}

// kind returns the objects and the history of a kind: of one that has never had an object, new ones. The caller holds the lock.
func (c *Cache) kind(kind api.Kind) *watchCache {
	if known := c.kinds[kind]; known != nil {
		return known
	}
	return &watchCache{index: makeIndex(), history: makeHistory(c.since)}
}

// keep is kind for changes and watches, which last. The caller holds the lock, for writing.
func (c *Cache) keep(kind api.Kind) *watchCache {
	kept := c.kind(kind)
	c.kinds[kind] = kept
	return kept
}

// Get implements Reader.
func (c *Cache) Get(key api.Key) (*storage.Object, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if object := c.kind(key.Kind).get(key); object != nil {
		return object, nil
	}
	return nil, api.NewNotFound(key.Kind, key.ID)
}

// All returns the objects of a key, sorted by machine: other programs may have stored
// several tasks.
func (c *Cache) All(key api.Key) (all []*storage.Object) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.kind(key.Kind).each(key, func(object *storage.Object) bool {
		all = append(all, object)
		return true
	})
	return all
}

// Len returns the number of objects of all kinds.
func (c *Cache) Len() (n int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, of := range c.kinds {
		n += of.byName.Len()
	}
	return n
}

// Reset replaces all objects, as of a version of the store. The histories are cleared, and all
// watchers are cut off.
func (c *Cache) Reset(version uint64, objects []*storage.Object) {
	fresh := New(version) // readers use the old objects meanwhile
	for _, object := range objects {
		fresh.swap(nil, object)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.kinds {
		of.history.end()
	}
	c.version, c.since, c.expected, c.kinds, c.claims, c.size = version, version, 0, fresh.kinds, fresh.claims, 0
}

// Expect records a version of the store that the cache has not reached yet, so that watches
// may begin there.
func (c *Cache) Expect(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = max(c.expected, version)
}

// List implements Reader.
func (c *Cache) List(selection storage.Selection) (*storage.List, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return &storage.List{Kind: selection.Kind, Version: c.version, Items: c.kind(selection.Kind).list(selection)}, nil
}

// ListAt implements Reader. It reverts the changes of the history after the version.
func (c *Cache) ListAt(selection storage.Selection, version uint64) (*storage.List, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	of := c.kind(selection.Kind)
	if since := of.history.since; version < since || version > c.version {
		return nil, expired(version, since)
	}
	list := &storage.List{Kind: selection.Kind, Version: version, Items: of.listAt(of.history.then(version))}
	if selection.Namespace != "" || selection.Machine != "" || len(selection.Labels) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(object *storage.Object) bool { return !selection.Includes(object) })
	}
	return list, nil
}

// FirstFree implements Reader. Its cost depends on the number of skipped candidates, not
// on the number of objects. While candidates are made, the cache is not locked: who makes them may read it.
func (c *Cache) FirstFree(candidates iter.Seq[api.Object]) (api.Object, error) {
	var wanted []api.Claim // one slice for all: there may be thousands of machines
	for candidate := range candidates {
		wanted = candidate.AppendClaims(wanted[:0])
		if c.isFree(candidate.Key(), wanted) {
			return candidate, nil
		}
	}
	return nil, nil
}

func (c *Cache) isFree(key api.Key, wanted []api.Claim) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, owner := c.claims.conflict(key, wanted)
	return owner == nil
}

// Version implements Reader.
func (c *Cache) Version() (uint64, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.version, nil
}

// Changed implements Reader.
func (c *Cache) Changed(kind api.Kind) (uint64, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	history := c.kind(kind).history
	if n := len(history.events); n > 0 {
		return history.events[n-1].Version, nil
	}
	return history.since, nil
}
