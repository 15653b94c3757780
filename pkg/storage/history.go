package storage

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"time"

	"kube2014/pkg/api"
)

const (
	// maxEvents bounds the history.
	maxEvents = 10000
	// maxHistorySize bounds what the history keeps in memory of objects that are
	// gone, in bytes.
	maxHistorySize = 64 << 20
	// maxBatch bounds how many events a watcher gets at once, but for the rest of
	// those that were made together.
	maxBatch = 500
)

// history is the last changes of a store, in their order. It has no lock of its
// own.
type history struct {
	events  []Event
	first   uint64        // how many events have been dropped: the number of the first one here
	since   uint64        // all changes after this version are here
	size    int           // of the objects that were replaced or deleted, in bytes
	changed chan struct{} // closed at the next change
}

func makeHistory(version uint64) history {
	return history{first: maxEvents, since: version, changed: make(chan struct{})} // extend counts down from first
}

// add appends events that were made together, drops the oldest ones if there are too
// many, and wakes those who wait.
func (h *history) add(events []Event) {
	for i, event := range events {
		event.size, event.last = sizeOfReplaced(event), i == len(events)-1
		h.events = append(h.events, event)
		h.size += event.size
	}
	for len(h.events) > maxEvents || (h.size > maxHistorySize && len(h.events) > 0) {
		h.size -= h.events[0].size
		h.since = h.events[0].Version
		h.events[0] = Event{} // the array may live longer
		h.events = h.events[1:]
		h.first++
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// Since returns the version after which the history has all changes.
func (c *Cache) Since() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.history.since
}

// Extend puts earlier events before those of the history: all changes after the
// version since, up to the one at which the history began so far. So a process can
// serve those who watched another one before. If the history begins elsewhere by now,
// or would become too long, nothing changes.
func (c *Cache) Extend(since, until uint64, events []Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &c.history
	if until != h.since || len(events)+len(h.events) > maxEvents || uint64(len(events)) > h.first {
		return
	}
	for i := range events {
		events[i].size, events[i].last = sizeOfReplaced(events[i]), true
		h.size += events[i].size
	}
	h.events = slices.Concat(events, h.events)
	h.first -= uint64(len(events))
	h.since = since
}

// restart drops all events, and cuts off whoever watches: no event gets a number that
// one of theirs had, also if the history is extended.
func (h *history) restart(version uint64) {
	h.first += uint64(len(h.events)) + maxEvents + 1
	h.events, h.size, h.since = nil, 0, version
	close(h.changed)
	h.changed = make(chan struct{})
}

// Watcher gives out the changes of one kind, in their order, each once. It is for
// one goroutine at a time. It holds up nobody, and need not be closed.
type Watcher struct {
	cache *Cache
	kind  api.Kind
	next  uint64 // the number of the first event that was not looked at
}

// Watch implements Reader.
func (c *Cache) Watch(kind api.Kind, after uint64) (*Watcher, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if after < c.history.since || after > c.version {
		return nil, expired(after)
	}
	events := c.history.events
	first := sort.Search(len(events), func(i int) bool { return events[i].Version > after })
	return &Watcher{cache: c, kind: kind, next: c.history.first + uint64(first)}, nil
}

// Next returns the next events, at least one; those that were made together come
// together. It waits for them until the context ends, and returns its error then. A
// watcher that reads so slowly that the history has dropped an event before it was
// read is cut off: the error is an api.Expired one, from then on.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	for {
		events, changed, err := w.read()
		if err != nil || len(events) > 0 {
			return events, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

// read returns the events that there are, and what is closed when there are more.
func (w *Watcher) read() (events []Event, changed <-chan struct{}, err error) {
	w.cache.mu.RLock()
	defer w.cache.mu.RUnlock()
	history := &w.cache.history
	if w.next < history.first {
		return nil, nil, expired(history.since)
	}
	for _, event := range history.events[w.next-history.first:] {
		w.next++
		if event.kind() == w.kind {
			events = append(events, event)
		}
		if len(events) >= maxBatch && event.last {
			break
		}
	}
	return events, history.changed, nil
}

func (e Event) kind() api.Kind {
	if e.After != nil {
		return e.After.GetKind()
	}
	return e.Before.GetKind()
}

func expired(version uint64) error {
	return &api.Error{Kind: api.Expired, Message: fmt.Sprintf("the changes after version %d are not known any more", version)}
}

// sizeOfReplaced estimates how much memory an event keeps from being freed.
func sizeOfReplaced(event Event) int {
	if event.Before == nil {
		return 0
	}
	size := sizeOf(reflect.ValueOf(event.Before.Object))
	for kept := event.Before.texts.Load(); kept != nil; kept = kept.next {
		size += len(kept.item)
	}
	return size
}

// sizeOf estimates the memory that a value takes, in bytes, with all that it points
// to. The zone of a time is not its own, and may be being loaded.
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
