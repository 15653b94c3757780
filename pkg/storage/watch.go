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

// watcher implements Watcher over the history of a kind.
type watcher struct {
	cache     *Cache
	selection Selection
	history   *history
	scope     scope
	scoped    *scoped
	next      uint64 // the number of the first event that was not looked at
	after     uint64 // the version from which on it watches, which may be one to come
	seen      uint64 // the version up to which all events were given out

	given []Event // the last ones, whose place is used again
}

// Watch implements Reader.
func (c *Cache) Watch(selection Selection, after uint64) (Watcher, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if newest := max(c.version, c.expected); after > newest {
		return nil, &api.Error{Kind: api.Expired, Message: fmt.Sprintf("Too large resource version: %d, current: %d", after, newest)}
	}
	history := c.lane(selection.Kind).history
	if after < history.since {
		return nil, expired(after, history.since)
	}
	events := history.events
	next := history.first + uint64(sort.Search(len(events), func(i int) bool { return events[i].Version > after }))
	w := &watcher{cache: c, selection: selection, history: history, scope: scopeOf(selection), next: next, after: after, seen: after}
	w.scoped = history.watch(w.scope, next)
	return w, nil
}

// Stop implements Watcher.
func (w *watcher) Stop() {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.history.unwatch(w.scope)
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
	if w.missed() {
		return nil, nil, expired(w.seen, w.history.since)
	}
	clear(w.given) // the objects may be gone
	w.given = w.given[:0]
	for _, number := range w.unread() {
		w.next = number + 1
		event := w.history.events[number-w.history.first]
		if event.Version > w.after && (w.selection.Includes(event.Before) || w.selection.Includes(event.After)) {
			w.given = append(w.given, event)
		}
		if len(w.given) >= maxBatch && event.last {
			w.seen = max(w.seen, event.Version)
			return w.given, w.scoped.changed, nil
		}
	}
	w.next = w.history.next()
	w.seen = max(w.seen, w.cache.version)
	return w.given, w.scoped.changed, nil
}

// missed reports whether the history has dropped an event before it was read. The caller holds
// the lock of the cache.
func (w *watcher) missed() bool { return w.history.ended || w.next < w.scoped.complete }

// unread returns the numbers of the events of the watcher's scope that were not looked at. The
// caller holds the lock of the cache.
func (w *watcher) unread() []uint64 {
	first, _ := slices.BinarySearch(w.scoped.numbers, w.next)
	return w.scoped.numbers[first:]
}

// Version implements Watcher.
func (w *watcher) Version() uint64 {
	w.cache.mu.RLock()
	defer w.cache.mu.RUnlock()
	if !w.missed() && len(w.unread()) == 0 {
		w.seen = max(w.seen, w.cache.version) // what has changed since does not concern it
	}
	return w.seen
}

// expired says that the changes after a version are not known, but those after another one.
func expired(version, since uint64) error {
	return &api.Error{Kind: api.Expired, Message: fmt.Sprintf("too old resource version: %d (%d)", version, since)}
}
