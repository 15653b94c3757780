package storage

import "kube2014/pkg/api"

// Event is one change of an object.
type Event struct {
	Type    EventType
	Version uint64  // of the store, after the change
	Before  *Object // nil if it was added
	After   *Object // nil if it was deleted
}

// Last returns the prior state at the event's version, for DELETED events. All watchers share
// it.
func (e Event) Last() *Object {
	if last := e.Before.last.Load(); last != nil && last.Version() == e.Version {
		return last
	}
	last := NewObject(Copy(e.Before.Object), e.Version, e.Before.Meta().CreationVersion)
	if !e.Before.last.CompareAndSwap(nil, last) {
		if other := e.Before.last.Load(); other.Version() == e.Version {
			return other
		}
	}
	return last
}

// EventType is what happened to an object.
type EventType string

// The types of events, in today's words.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
)

// MakeEvent returns the event by which a version of an object becomes another one. before is nil for a new object, after for a
// deleted one.
func MakeEvent(before, after *Object, version uint64) Event {
	event := Event{Type: Modified, Version: version, Before: before, After: after}
	switch {
	case before == nil:
		event.Type = Added
	case after == nil:
		event.Type = Deleted
	}
	return event
}

// Key returns the key of the object that has changed.
func (e Event) Key() api.Key {
	if e.After != nil {
		return e.After.Key()
	}
	return e.Before.Key()
}
