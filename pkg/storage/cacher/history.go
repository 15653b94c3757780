package cacher

import (
	"iter"
	"reflect"
	"slices"

	"kube2014/pkg/storage"
)

// history holds the recent changes of one kind, in order. It has no lock of its own.
type history struct {
	events []entry
	first  uint64 // the number of the first event: events are numbered without gaps
	since  uint64 // the history has all changes after this version
	size   int    // of the replaced and deleted objects, in bytes
	ended  bool   // another history has replaced it
	scopes map[scope]*scoped
}

// entry is an event in a history.
type entry struct {
	storage.Event
	size int  // of the replaced or deleted object, which the history retains, in bytes
	last bool // whether it is the last event of its commit
}

// makeEntry estimates the memory that an event retains. It does not count JSON that is encoded later, for slow watchers or last
// states.
func makeEntry(event storage.Event) entry {
	e := entry{Event: event}
	if event.Before != nil {
		e.size = sizeOf(reflect.ValueOf(event.Before.Object)) + event.Before.EncodedSize()
	}
	return e
}

// scope is the part of a history that a watcher follows: a machine, a namespace, or everything if both are "".
type scope struct{ machine, namespace string }

// scoped lists the events of a watched scope.
type scoped struct {
	numbers  []uint64      // of the events of the scope
	complete uint64        // numbers has all events of the scope from this number on
	watchers int           // of the scope
	changed  chan struct{} // closed at the next event
}

func makeHistory(version uint64) *history {
	return &history{first: maxEvents, since: version, scopes: map[scope]*scoped{}} // extend counts down from first
}

// next returns the number of the next event.
func (h *history) next() uint64 { return h.first + uint64(len(h.events)) }

// scopeOf returns the scope of the watchers of a selection.
func scopeOf(selection storage.Selection) scope {
	if selection.Machine != "" {
		return scope{machine: selection.Machine}
	}
	return scope{namespace: selection.Namespace}
}

// scopesOf yields the scopes of an event.
func scopesOf(event storage.Event) iter.Seq[scope] {
	return func(send func(scope) bool) {
		was, is := storage.MachineOf(event.Before), storage.MachineOf(event.After)
		if was == is {
			was = ""
		}
		if !send(scope{}) {
			return
		}
		for _, s := range [...]scope{{namespace: event.Key().Namespace}, {machine: was}, {machine: is}} {
			if s != (scope{}) && !send(s) {
				return
			}
		}
	}
}

// watched yields the watched scopes of an event.
func (h *history) watched(event storage.Event) iter.Seq[*scoped] {
	return func(send func(*scoped) bool) {
		if len(h.scopes) == 0 {
			return
		}
		for s := range scopesOf(event) {
			if watched := h.scopes[s]; watched != nil && !send(watched) {
				return
			}
		}
	}
}

func (h *history) add(event entry) {
	for watched := range h.watched(event.Event) {
		watched.numbers = append(watched.numbers, h.next())
	}
	h.events = append(h.events, event)
	h.size += event.size
}

// drop removes the oldest event.
func (h *history) drop() {
	for watched := range h.watched(h.events[0].Event) {
		if len(watched.numbers) > 0 && watched.numbers[0] == h.first {
			watched.numbers, watched.complete = watched.numbers[1:], h.first+1
		}
	}
	h.size -= h.events[0].size
	h.since = h.events[0].Version
	h.events[0] = entry{} // release the objects: the array may outlive the slice
	h.events = h.events[1:]
	h.first++
}

// wake notifies the watchers of the scopes of an event.
func (h *history) wake(event storage.Event) {
	for watched := range h.watched(event) {
		watched.wake()
	}
}

func (s *scoped) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// end cuts off all watchers.
func (h *history) end() {
	h.ended = true
	for _, watched := range h.scopes {
		watched.wake()
	}
}

// watch adds a watcher to a scope, which reads from the event with the number from on.
func (h *history) watch(by scope, from uint64) *scoped {
	watched := h.scopes[by]
	if watched == nil {
		watched = &scoped{complete: h.next(), changed: make(chan struct{})}
		h.scopes[by] = watched
	}
	watched.watchers++
	if from < watched.complete {
		var earlier []uint64
		for number := from; number < watched.complete; number++ {
			for s := range scopesOf(h.events[number-h.first].Event) {
				if s == by {
					earlier = append(earlier, number)
				}
			}
		}
		watched.numbers, watched.complete = slices.Concat(earlier, watched.numbers), from
	}
	return watched
}

// unwatch removes a watcher from a scope.
func (h *history) unwatch(by scope) {
	if watched := h.scopes[by]; watched.watchers > 1 {
		watched.watchers--
	} else {
		delete(h.scopes, by)
	}
}

// extend prepends earlier events: all changes after a version.
func (h *history) extend(since uint64, events []entry) {
	for _, event := range events {
		h.size += event.size
	}
	h.events = slices.Concat(events, h.events)
	h.first -= uint64(len(events))
	h.since = since
}

// then returns the prior states of the objects that have changed since a version, by name, nil if
// the object did not exist.
func (h *history) then(version uint64) map[string]*storage.Object {
	then := map[string]*storage.Object{}
	for _, event := range slices.Backward(h.events) {
		if event.Version <= version {
			break
		}
		if event.After != nil {
			then[event.After.Name()] = nil
		}
		if event.Before != nil {
			then[event.Before.Name()] = event.Before
		}
	}
	return then
}
