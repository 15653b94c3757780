package cacher

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// maxBatch bounds the number of events that one call of Next returns, which may exceed it by the
// rest of a commit. The watcher retains their objects.
const maxBatch = 500

// watcher implements Watcher over the history of a kind.
type watcher struct {
	cache     *Cache
	selection storage.Selection
	history   *history
	scope     scope
	scoped    *scoped
	next      uint64 // the number of the first unread event
	after     uint64 // it watches after this version, possibly a future one
	seen      uint64 // the version up to which all events were returned

	batch []storage.Event // the result of the last Next; the slice is reused
}

func (c *Cache) Watch(selection storage.Selection, after uint64) (storage.Watcher, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if newest := max(c.version, c.expected); after > newest {
		return nil, &api.Error{Kind: api.Expired, Message: fmt.Sprintf("Too large resource version: %d, current: %d", after, newest)}
	}
	history := c.keep(selection.Kind).history
	if after < history.since {
		return nil, expired(after, history.since)
	}
	events := history.events
	next := history.first + uint64(sort.Search(len(events), func(i int) bool { return events[i].Version > after }))
	w := &watcher{cache: c, selection: selection, history: history, scope: scopeOf(selection), next: next, after: after, seen: after}
	w.scoped = history.watch(w.scope, next)
	return w, nil
}

func (w *watcher) Stop() {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.history.unwatch(w.scope)
}

func (w *watcher) Next(ctx context.Context) ([]storage.Event, error) {
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

// read returns the unread events, and a channel that is closed when there are more.
func (w *watcher) read() (events []storage.Event, changed <-chan struct{}, err error) {
	w.cache.mu.RLock()
	defer w.cache.mu.RUnlock()
	if w.missed() {
		return nil, nil, expired(w.seen, w.history.since)
	}
	clear(w.batch) // so that their objects can be freed
	w.batch = w.batch[:0]
	for _, number := range w.unread() {
		w.next = number + 1
		event := w.history.events[number-w.history.first]
		if event.Version > w.after && (w.selection.Includes(event.Before) || w.selection.Includes(event.After)) {
			w.batch = append(w.batch, event.Event)
		}
		if len(w.batch) >= maxBatch && event.last {
			w.seen = max(w.seen, event.Version)
			return w.batch, w.scoped.changed, nil
		}
	}
	w.next = w.history.next()
	w.seen = max(w.seen, w.cache.version)
	return w.batch, w.scoped.changed, nil
}

// missed reports whether the history has dropped an unread event. The caller holds the lock of the
// cache.
func (w *watcher) missed() bool { return w.history.ended || w.next < w.scoped.complete }

// unread returns the numbers of the unread events of the watcher's scope. The caller holds the lock of
// the cache.
func (w *watcher) unread() []uint64 {
	first, _ := slices.BinarySearch(w.scoped.numbers, w.next)
	return w.scoped.numbers[first:]
}

func (w *watcher) Version() uint64 {
	w.cache.mu.RLock()
	defer w.cache.mu.RUnlock()
	if !w.missed() && len(w.unread()) == 0 {
		w.seen = max(w.seen, w.cache.version) // later changes are of other scopes
	}
	return w.seen
}

// expired returns the error for a version that is older than the history.
func expired(version, since uint64) error {
	return &api.Error{Kind: api.Expired, Message: fmt.Sprintf("too old resource version: %d (%d)", version, since)}
}
