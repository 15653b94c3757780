package storage

import (
	"iter"
	"slices"
	"sync"

	"kube2014/pkg/api"
)

// Cache holds the objects of a store by key, by label and by claim, and their
// recent changes. It is safe for concurrent use.
type Cache struct {
	mu       sync.RWMutex // guards the fields below
	version  uint64
	expected uint64 // the store has at least this version
	since    uint64 // the cache has received all changes after this version
	lanes    map[api.Kind]*lane
	claims   claims
	size     int // of all histories, in bytes
}

var _ Reader = (*Cache)(nil)

// NewCache returns an empty cache of a store with this version.
func NewCache(version uint64) *Cache {
	return &Cache{version: version, since: version, lanes: map[api.Kind]*lane{}, claims: claims{}}
}

// lane returns the objects and the history of a kind. The caller holds the lock, for writing.
func (c *Cache) lane(kind api.Kind) *lane {
	own := c.lanes[kind]
	if own == nil {
		own = &lane{index: makeIndex(), history: makeHistory(c.since)}
		c.lanes[kind] = own
	}
	return own
}

// Get implements Reader.
func (c *Cache) Get(key api.Key) (*Object, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if object := c.get(key); object != nil {
		return object, nil
	}
	return nil, api.NewNotFound(key.Kind, key.ID)
}

// get returns an object, nil if there is none.
func (c *Cache) get(key api.Key) *Object {
	if lane := c.lanes[key.Kind]; lane != nil {
		return lane.get(key)
	}
	return nil
}

// All returns the objects of a key, sorted by machine: other programs may have stored
// several tasks.
func (c *Cache) All(key api.Key) (all []*Object) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if lane := c.lanes[key.Kind]; lane != nil {
		lane.each(key, func(object *Object) bool {
			all = append(all, object)
			return true
		})
	}
	return all
}

// Len returns the number of objects of all kinds.
func (c *Cache) Len() (n int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, lane := range c.lanes {
		n += lane.byName.Len()
	}
	return n
}

// Reset replaces all objects, as of a version of the store. The histories are cleared, and all
// watchers are cut off.
func (c *Cache) Reset(version uint64, objects []*Object) {
	fresh := NewCache(version) // readers use the old objects meanwhile
	for _, object := range objects {
		fresh.swap(nil, object)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, lane := range c.lanes {
		lane.history.end()
	}
	c.version, c.since, c.expected, c.lanes, c.claims, c.size = version, version, 0, fresh.lanes, fresh.claims, 0
}

// Expect records a version of the store that the cache has not reached yet, so that watches
// may begin there.
func (c *Cache) Expect(version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = max(c.expected, version)
}

// List implements Reader.
func (c *Cache) List(selection Selection) (*List, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	list := &List{Kind: selection.Kind, Version: c.version}
	if lane := c.lanes[selection.Kind]; lane != nil {
		list.Items = lane.list(selection)
	}
	return list, nil
}

// ListAt implements Reader. It reverts the changes of the history after the version.
func (c *Cache) ListAt(selection Selection, version uint64) (*List, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	list, since := &List{Kind: selection.Kind, Version: version}, c.since
	lane := c.lanes[selection.Kind]
	if lane != nil {
		since = lane.history.since
	}
	if version < since || version > c.version {
		return nil, expired(version, since)
	}
	if lane != nil {
		list.Items = lane.listAt(lane.history.then(version))
	}
	if selection.Namespace != "" || selection.Machine != "" || len(selection.Labels) > 0 {
		list.Items = slices.DeleteFunc(list.Items, func(object *Object) bool { return !selection.Includes(object) })
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
	lane := c.lanes[kind]
	if lane == nil {
		return c.since, nil
	}
	if events := lane.history.events; len(events) > 0 {
		return events[len(events)-1].Version, nil
	}
	return lane.history.since, nil
}
