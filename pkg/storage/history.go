package storage

import (
	"reflect"
	"sort"
	"time"

	"kube2014/pkg/api"
)

const (
	// maxEvents bounds the history of each kind.
	maxEvents = 10000
	// maxHistorySize bounds the memory of all histories for replaced and deleted objects,
	// in bytes.
	maxHistorySize = 64 << 20
)

// record adds the events of a commit to the histories, drops the oldest ones if there are too
// many, and wakes the watchers. The caller holds the lock.
func (c *Cache) record(events []Event) {
	for _, event := range events {
		history := c.lane(event.Key().Kind).history
		event.size = sizeOfReplaced(event)
		history.add(event)
		c.size += event.size
		if len(history.events) > maxEvents {
			c.drop(history)
		}
	}
	for c.size > maxHistorySize {
		c.drop(c.largest())
	}
	for _, event := range events {
		history := c.lanes[event.Key().Kind].history
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
	for _, lane := range c.lanes {
		if largest == nil || lane.history.size > largest.size {
			largest = lane.history
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
func (c *Cache) Events(until uint64) (events []Event, all bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, lane := range c.lanes {
		if lane.history.since != c.since {
			return nil, false
		}
		own := lane.history.events
		events = append(events, own[:sort.Search(len(own), func(i int) bool { return own[i].Version > until })]...)
	}
	return events, true
}

// Extend prepends earlier events to the histories: all changes after since, up to until, sorted by
// version within each kind. So a process can continue the watches of another one. Nothing changes if
// until is not the version of Since, or the events need too much memory. A history that no longer begins
// there, or would become too long, stays as it is.
func (c *Cache) Extend(since, until uint64, events []Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size, byKind := c.size, map[api.Kind][]Event{}
	for _, event := range events {
		kind := event.Key().Kind
		event.size, event.last = sizeOfReplaced(event), true
		if own := byKind[kind]; len(own) > 0 {
			own[len(own)-1].last = own[len(own)-1].Version < event.Version
		}
		size += event.size
		byKind[kind] = append(byKind[kind], event)
	}
	if until != c.since || size > maxHistorySize {
		return
	}
	for kind := range byKind {
		c.lane(kind)
	}
	for kind, lane := range c.lanes {
		if earlier, h := byKind[kind], lane.history; h.since == until && uint64(len(earlier)) <= min(h.first, maxEvents-uint64(len(h.events))) {
			c.size -= h.size
			h.extend(since, earlier)
			c.size += h.size
		}
	}
	c.since = since
}

// sizeOfReplaced estimates the memory that an event retains, in bytes. It does not count JSON that is
// encoded later, for slow watchers or last states.
func sizeOfReplaced(event Event) int {
	if event.Before == nil {
		return 0
	}
	size := sizeOf(reflect.ValueOf(event.Before.Object))
	for text := event.Before.texts.Load(); text != nil; text = text.next {
		size += int(text.encoded.Load().size.Load())
	}
	return size
}

// sizeOf estimates the memory of a value, in bytes, with all values that it points to. It skips
// the zone of a time, which is shared, and may be loaded concurrently.
func sizeOf(value reflect.Value) int {
	size := int(value.Type().Size())
	if value.Type() == reflect.TypeFor[time.Time]() {
		return size
	}
	switch value.Kind() {
	case reflect.String:
		size += value.Len()
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			size += sizeOf(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			size += sizeOf(value.Index(i))
		}
	case reflect.Map:
		for entry := value.MapRange(); entry.Next(); {
			size += sizeOf(entry.Key()) + sizeOf(entry.Value())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			size += sizeOf(value.Field(i)) - int(value.Field(i).Type().Size())
		}
	}
	return size
}
