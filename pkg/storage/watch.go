package storage

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"kube2014/pkg/api"
)

// maxBatch bounds how many events a watcher gets at once, but for the rest of those
// that were made together. While it looks at them, it keeps their objects.
const maxBatch = 500

// watcher implements Watcher over the history of a cache.
type watcher struct {
	cache *Cache
	kind  api.Kind
	next  uint64 // the number of the first event that was not looked at
	after uint64 // the version from which on it watches, which may be one to come
	seen  uint64 // the version up to which all events were

	given []Event // the last ones, whose place is used again
}

// Watch implements Reader.
func (c *Cache) Watch(kind api.Kind, after uint64) (Watcher, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if newest := max(c.version, c.expected); after > newest {
		return nil, &api.Error{Kind: api.Expired, Message: fmt.Sprintf("Too large resource version: %d, current: %d", after, newest)}
	}
	if after < c.history.since {
		return nil, expired(after, c.history.since)
	}
	events := c.history.events
	first := sort.Search(len(events), func(i int) bool { return events[i].Version > after })
	return &watcher{cache: c, kind: kind, next: c.history.first + uint64(first), after: after, seen: after}, nil
}

// Next implements Watcher.
func (w *watcher) Next(ctx context.Context) ([]Event, error) {
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
func (w *watcher) read() (events []Event, changed <-chan struct{}, err error) {
	w.cache.mu.RLock()
	defer w.cache.mu.RUnlock()
	history := &w.cache.history
	if w.next < history.first {
		return nil, nil, expired(w.seen, history.since)
	}
	clear(w.given) // the objects may be gone
	w.given = w.given[:0]
	for _, event := range history.events[w.next-history.first:] {
		w.next++
		if event.kind() == w.kind && event.Version > w.after {
			w.given = append(w.given, event)
		}
		if len(w.given) >= maxBatch && event.last {
			w.seen = max(w.seen, event.Version)
			return w.given, history.changed, nil
		}
	}
	w.seen = max(w.seen, w.cache.version)
	return w.given, history.changed, nil
}

// Version implements Watcher.
func (w *watcher) Version() uint64 { return w.seen }

// Since returns the version after which the history has all changes.
func (c *Cache) Since() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.history.since
}

// Events returns the events of the history, up to a version.
func (c *Cache) Events(until uint64) []Event {
	c.mu.RLock()
	defer c.mu.RUnlock()
	events := c.history.events
	return slices.Clone(events[:sort.Search(len(events), func(i int) bool { return events[i].Version > until })])
}

// Extend puts earlier events before those of the history: all changes after the
// version since, up to the one at which the history began so far. So a process can
// serve those who watched another one before. If the history begins elsewhere by now,
// or would become too long, nothing changes.
func (c *Cache) Extend(since, until uint64, events []Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &c.history
	size := h.size
	for i := range events {
		events[i].size, events[i].last = sizeOfReplaced(events[i]), i == len(events)-1 || events[i+1].Version > events[i].Version
		size += events[i].size
	}
	if until != h.since || len(events)+len(h.events) > maxEvents || size > maxHistorySize || uint64(len(events)) > h.first {
		return
	}
	h.size = size
	h.events = slices.Concat(events, h.events)
	h.first -= uint64(len(events))
	h.since = since
}

func (e Event) kind() api.Kind {
	if e.After != nil {
		return e.After.GetKind()
	}
	return e.Before.GetKind()
}

// expired says that the changes after a version are not known, but those after another one.
func expired(version, since uint64) error {
	return &api.Error{Kind: api.Expired, Message: fmt.Sprintf("too old resource version: %d (%d)", version, since)}
}
