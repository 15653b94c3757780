// Package storage keeps versioned objects and tells those who watch of each
// change. A store is one package that implements Interface: memory, and the
// versions of etcd.
package storage

import (
	"context"
	"iter"
	"reflect"
	"strings"
	"time"

	"kube2014/pkg/api"
)

// Reader reads the objects of a store. Its methods may be called concurrently.
// What they return is shared: nobody may change it.
//
// A store has a version, a number that each change makes larger. Each object has
// the version of its last change and that of its creation, each list that of the
// moment of which it is.
type Reader interface {
	// Get returns an object, or an api.NotFound error.
	Get(key api.Key) (*Object, error)
	// List returns the selected objects, sorted by namespace and id.
	List(selection Selection) (*List, error)
	// ListAt is List as of an earlier version of the store. The error is an api.Expired one
	// if the history does not reach back so far, or not yet there.
	ListAt(selection Selection, version uint64) (*List, error)
	// FirstFree returns the first of the candidates whose claims no other object holds, nil if
	// there is none. The candidates are one object in several forms, such as a task on
	// each machine; each is used only until the next one comes.
	FirstFree(candidates iter.Seq[api.Object]) (api.Object, error)
	// Version returns the store's present version.
	Version() (uint64, error)
	// Changed returns the version after the last change of a kind, or a later one if that is
	// not known any more.
	Changed(kind api.Kind) (uint64, error)
	// Watch returns a watcher of the changes after a version of all objects that were selected
	// before the change, or are after it. If the history does not have all of them, the error
	// is an api.Expired one. The caller stops the watcher.
	Watch(selection Selection, after uint64) (Watcher, error)
}

// Selection selects objects of one kind. An empty field selects all.
type Selection struct {
	Kind      api.Kind
	Namespace string
	Labels    map[string]string // the object has all of them
	Machine   string            // of an api.Placed object
}

// InDefault selects the objects of a kind in the namespace default, or nodes, which have none.
func InDefault(kind api.Kind) Selection {
	return Selection{Kind: kind, Namespace: api.DefaultKey(kind, "").Namespace}
}

// With returns the selection of those objects that carry the labels too.
func (s Selection) With(labels map[string]string) Selection {
	s.Labels = labels
	return s
}

// Includes reports whether an object of the kind, which may be nil, is selected.
func (s Selection) Includes(object *Object) bool {
	if object == nil || (s.Namespace != "" && object.Key().Namespace != s.Namespace) {
		return false
	}
	return (s.Machine == "" || machineOf(object) == s.Machine) && Carries(object.GetLabels(), s.Labels)
}

// machineOf returns the machine that runs an object, empty for none.
func machineOf(object *Object) string {
	if object != nil {
		if placed, ok := object.Object.(api.Placed); ok {
			return placed.Machine()
		}
	}
	return ""
}

// Interface is a store. It is linearizable: a read sees every change that was
// acknowledged before it began, by any process. An error is an api.Unavailable
// one if the store cannot be reached; a change may have been made then.
//
// It is the smallest form of what Kubernetes later named storage.Interface:
// Create, Delete and a conditional update are a Change, GuaranteedUpdate is a
// function over Interface, Count is the length of a List, Versioner became the
// metadata of each object.
type Interface interface {
	Reader
	// Cached returns a reader of what this process knows of the store. It does
	// not ask the store, so it may be stale; it is never older than what the
	// process has read from the store before.
	Cached() Reader
	// Commit makes changes that hold together, and returns the objects that it
	// wrote, nil for each change that wrote none. An atomic store makes all
	// changes or none, and nobody sees some of them without the others. Another
	// store makes them in their order: if it fails, or its process ends, between
	// two, it repairs that later. The store owns the objects that are passed in,
	// even if it fails.
	//
	// If an object does not have the expected version, nothing is changed. The
	// error is an api.AlreadyExists one if there should be none, api.NotFound if
	// there is none, else api.Conflict. It is api.HostPortTaken if another object
	// holds a claim of one that is written, and that of CheckUpdate if an api.Placed
	// object refuses its successor. A pod gets its machine, and takes its host ports
	// there, when it is created or by one later change.
	Commit(changes ...Change) ([]*Object, error)
}

// Change is a conditional change of one object.
type Change struct {
	Key      api.Key
	Expected uint64 // the version that the object must have, or one of the constants below
	Action   Action
	Object   api.Object // what to write

	// TTL is how long the object stays after it is written; 0 is for ever, also if it was to
	// end before. Then the store deletes it, within two seconds or so; etcd3 is up to a
	// twentieth of the time later, at most a minute. It is not for tasks, and not negative.
	TTL time.Duration
	// Began is when the request began to which the change belongs; zero if that is
	// now. A store that bounds the time of a request counts from then.
	Began time.Time
}

// Action is what a change does.
type Action string

// The actions.
const (
	Write  Action = "write"
	Remove Action = "remove"
	Check  Action = "check" // only that the object has the expected version
)

// Values of Change.Expected that are no versions.
const (
	Absent  uint64 = 0         // there must be no object
	Present uint64 = 1<<64 - 1 // there must be one, of any version
	Any     uint64 = 1<<64 - 2 // it does not matter
	Blind   uint64 = 1<<64 - 3 // nor whether the object that is written counts as a new one
)

// Unconditional reports whether it does not matter if there is an object, nor which.
func (c Change) Unconditional() bool { return c.Expected == Any || c.Expected == Blind }

// TTLSeconds returns the TTL in seconds, rounded up.
func (c Change) TTLSeconds() int64 {
	seconds := int64(c.TTL / time.Second)
	if c.TTL%time.Second > 0 {
		seconds++
	}
	return seconds
}

// InWords returns what the change does, such as "create task", for errors.
func (c Change) InWords() string {
	verb := "update "
	switch {
	case c.Action == Remove:
		verb = "delete "
	case c.Expected == Absent:
		verb = "create "
	}
	return verb + string(c.Key.Kind)
}

// ListInWords returns what a list is, such as "list tasks", for errors.
func ListInWords(kind api.Kind) string {
	return "list " + strings.TrimSuffix(string(kind), "s") + "s"
}

// Create stores a new object.
func Create(object api.Object) Change {
	return Change{Key: object.Key(), Expected: Absent, Action: Write, Object: object}
}

// Update replaces an object that has the expected version.
func Update(object api.Object, expected uint64) Change {
	return Change{Key: object.Key(), Expected: expected, Action: Write, Object: object}
}

// Delete removes an object that has the expected version.
func Delete(key api.Key, expected uint64) Change {
	return Change{Key: key, Expected: expected, Action: Remove}
}

// DeleteService returns the changes that delete a service: its endpoints end with it, if there are any (D14).
func DeleteService(key api.Key, expected uint64) []Change {
	endpoints := api.Key{Kind: api.EndpointsKind, Namespace: key.Namespace, ID: key.ID}
	return []Change{Delete(key, expected), Delete(endpoints, Any)}
}

// Require changes nothing, but lets a commit fail unless there is such an object.
func Require(key api.Key) Change {
	return Change{Key: key, Expected: Present, Action: Check}
}

// Undecodable is the cause of the error with which Get answers an object that is
// there but cannot be decoded. An update may replace it, unless it is a task.
type Undecodable struct {
	Version uint64
	Err     error
}

// Error returns why it cannot be decoded.
func (u *Undecodable) Error() string { return u.Err.Error() }

// Unwrap returns why it cannot be decoded.
func (u *Undecodable) Unwrap() error { return u.Err }

// Clock is an optional interface of a store that takes the time from another clock
// than the system's.
type Clock interface {
	Now() time.Time
}

// CheckExpected returns an error if an object, nil for none, is not what the change
// expects.
func CheckExpected(change Change, object *Object) error {
	switch {
	case change.Unconditional(), change.Expected == Present && object != nil, change.Expected == Absent && object == nil:
	case object == nil:
		return api.NewNotFound(change.Key.Kind, change.Key.ID)
	case change.Expected == Absent:
		return api.NewAlreadyExists(change.Key.Kind, change.Key.ID)
	case change.Expected != object.Version():
		return api.NewConflict("%s has changed", change.Key.InWords())
	}
	if object != nil && change.Action == Write {
		if placed, ok := object.Object.(api.Placed); ok {
			return placed.CheckUpdate(change.Object)
		}
	}
	return nil
}

// Watcher gives out the changes of the selected objects, in their order, each once. It is for
// one goroutine at a time. It holds up nobody.
type Watcher interface {
	// Next returns the next events, at least one; those that were made together come
	// together. They are the watcher's own, and the caller's until the next call. It waits
	// for them until the context ends, and returns its error then. A
	// watcher that reads so slowly that the history has dropped an event before it was
	// read is cut off: the error is an api.Expired one, from then on.
	Next(context.Context) ([]Event, error)
	// Version returns the version of the store up to which Next has given out all events.
	Version() uint64
	// Stop releases the watcher. It must not be used any more.
	Stop()
}

// Event is one change, as a watcher gets it.
type Event struct {
	Type    EventType
	Version uint64  // of the store, after the change
	Before  *Object // nil if it was added
	After   *Object // nil if it was deleted

	size int  // of what the history keeps for it, in bytes
	last bool // of those that were made together
}

// Last returns the object as it was before the change, with the version of the change: for
// those who do not see it any more. It is made once for all watchers.
func (e Event) Last() *Object {
	if last := e.Before.last.Load(); last != nil && last.Version() == e.Version {
		return last
	}
	object := reflect.New(reflect.TypeOf(e.Before.Object).Elem())
	object.Elem().Set(reflect.ValueOf(e.Before.Object).Elem())
	last := NewObject(object.Interface().(api.Object), e.Version, e.Before.Meta().CreationVersion)
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
