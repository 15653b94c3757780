package cacher

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

const (
	// maxEvents bounds the history of each kind.
	maxEvents = 10000
	// maxHistorySize bounds the memory of all histories for replaced and deleted objects,
	// in bytes.
	maxHistorySize = 64 << 20
)

// watchCache holds the objects of one kind, and their recent changes. A busy kind neither expires
// the watchers of other kinds nor wakes them.
type watchCache struct {
	*index
	history *history
}

// record adds the events of a commit to the histories, drops the oldest ones if there are too
// many, and wakes the watchers. The caller holds the lock.
func (c *Cache) record(events []storage.Event) {
	for _, event := range events {
		history, added := c.keep(event.Key().Kind).history, makeEntry(event)
		history.add(added)
		c.size += added.size
		if len(history.events) > maxEvents {
			c.drop(history)
		}
	}
	for c.size > maxHistorySize {
		c.drop(c.largest())
	}
	for _, event := range events {
		history := c.kinds[event.Key().Kind].history
		if n := len(history.events); n > 0 {
			history.events[n-1].last = true
		}
		history.wake(event)
	}
}

// drop removes the oldest event of a history. The caller holds the lock.
func (c *Cache) drop(from *history) {
	c.size -= from.events[0].size
	from.drop()
}

// largest returns the history that uses the most memory. The caller holds the lock.
func (c *Cache) largest() (largest *history) {
	for _, of := range c.kinds {
		if largest == nil || of.history.size > largest.size {
			largest = of.history
		}
	}
	return largest
}

// Since returns the version after which the cache has received all changes.
func (c *Cache) Since() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.since
}

// Events returns the changes that the cache has received up to a version, grouped by kind. all is
// false if the histories have dropped some.
func (c *Cache) Events(until uint64) (events []storage.Event, all bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, of := range c.kinds {
		if of.history.since != c.since {
			return nil, false
		}
		for _, entry := range of.history.events {
			if entry.Version > until {
				break
			}
			events = append(events, entry.Event)
		}
	}
	return events, true
}

// Extend prepends earlier events to the histories: all changes after since, up to until, sorted by
// version within each kind. So a process can continue the watches of another one. Nothing changes if
// until is not the version of Since, or the events need too much memory. A history that no longer begins
// there, or would become too long, stays as it is.
func (c *Cache) Extend(since, until uint64, events []storage.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size, byKind := c.size, map[api.Kind][]entry{}
	for _, event := range events {
		kind, earlier := event.Key().Kind, makeEntry(event)
		earlier.last = true
		if own := byKind[kind]; len(own) > 0 {
			own[len(own)-1].last = own[len(own)-1].Version < event.Version
		}
		size += earlier.size
		byKind[kind] = append(byKind[kind], earlier)
	}
	if until != c.since || size > maxHistorySize {
		return
	}
	for kind := range byKind {
		c.keep(kind)
	}
	for kind, of := range c.kinds {
		if earlier, h := byKind[kind], of.history; h.since == until && uint64(len(earlier)) <= min(h.first, maxEvents-uint64(len(h.events))) {
			c.size -= h.size
			h.extend(since, earlier)
			c.size += h.size
		}
	}
	c.since = since
}
