// Package storage keeps versioned objects and tells those who watch of each
// change. A store is one package that implements Interface: memory, and the
// versions of etcd.
package storage

import (
	"context"
	"reflect"
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
	Get(kind api.Kind, id string) (*Object, error)
	// List returns the objects that carry all the labels, sorted by id; without
	// labels, all objects of the kind.
	List(kind api.Kind, labels map[string]string) (*List, error)
	// ListAt returns all objects of a kind as of an earlier version of the store, or an
	// api.Expired error if the history does not reach back so far, or not yet there.
	ListAt(kind api.Kind, version uint64) (*List, error)
	// FirstFree returns the first of the machines on which no other task has one of
	// the task's host ports, "" if there is none.
	FirstFree(machines []string, task api.Task) (string, error)
	// Version returns the store's present version.
	Version() (uint64, error)
	// Watch returns a watcher of the changes of a kind after a version. If the
	// history does not have all of them, the error is an api.Expired one.
	Watch(kind api.Kind, after uint64) (Watcher, error)
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
	// there is none, else api.Conflict. It is api.HostPortTaken if another task on
	// its machine has a host port that a task wants, and api.Invalid if a task is
	// to move to another machine. A pod gets its machine, and takes its host ports
	// there, when it is created or by one later change. An update that would make a
	// task a pod, or the reverse, is refused as api.Invalid.
	Commit(changes ...Change) ([]*Object, error)
}

// Change is a conditional change of one object.
type Change struct {
	Kind     api.Kind
	ID       string
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
	return verb + string(c.Kind)
}

// ListInWords returns what a list is, such as "list tasks", for errors.
func ListInWords(kind api.Kind) string {
	if kind == api.EndpointsKind {
		return "list " + string(kind)
	}
	return "list " + string(kind) + "s"
}

// Create stores a new object.
func Create(object api.Object) Change {
	return Change{Kind: object.GetKind(), ID: object.GetID(), Expected: Absent, Action: Write, Object: object}
}

// Update replaces an object that has the expected version.
func Update(object api.Object, expected uint64) Change {
	return Change{Kind: object.GetKind(), ID: object.GetID(), Expected: expected, Action: Write, Object: object}
}

// Delete removes an object that has the expected version.
func Delete(kind api.Kind, id string, expected uint64) Change {
	return Change{Kind: kind, ID: id, Expected: expected, Action: Remove}
}

// DeleteService returns the changes that delete a service: its endpoints end with it, if there are any (D14).
func DeleteService(id string, expected uint64) []Change {
	return []Change{Delete(api.ServiceKind, id, expected), Delete(api.EndpointsKind, id, Any)}
}

// Require changes nothing, but lets a commit fail unless there is such an object.
func Require(kind api.Kind, id string) Change {
	return Change{Kind: kind, ID: id, Expected: Present, Action: Check}
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
		return checkMachine(change, object)
	case object == nil:
		return api.NewNotFound(change.Kind, change.ID)
	case change.Expected == Absent:
		return api.NewAlreadyExists(change.Kind, change.ID)
	case change.Expected != object.Version():
		return api.NewConflict("%s %s has changed", change.Kind, api.Quote(change.ID))
	}
	return checkMachine(change, object)
}

// checkMachine returns an error if a change moves a task to another machine, or makes it
// a pod or no pod any more.
func checkMachine(change Change, object *Object) error {
	if object == nil {
		return nil
	}
	before, wasTask := object.Object.(*api.Task)
	after, isTask := change.Object.(*api.Task)
	if wasTask && isTask && before.IsPod != after.IsPod {
		return api.NewInvalid("id", "%s is that of a task that was made at the other door, and stays what it is", api.Quote(change.ID))
	}
	if wasTask && isTask && before.CurrentState.Host != "" && after.CurrentState.Host != before.CurrentState.Host {
		return api.NewInvalid("currentState.host", "%s is not machine %s, where the task is: a task does not move",
			api.Quote(after.CurrentState.Host), before.CurrentState.Host)
	}
	return nil
}

// Watcher gives out the changes of one kind, in their order, each once. It is for
// one goroutine at a time. It holds up nobody, and need not be closed.
type Watcher interface {
	// Next returns the next events, at least one; those that were made together come
	// together. They are the watcher's own, and the caller's until the next call. It waits
	// for them until the context ends, and returns its error then. A
	// watcher that reads so slowly that the history has dropped an event before it was
	// read is cut off: the error is an api.Expired one, from then on.
	Next(context.Context) ([]Event, error)
	// Version returns the version of the store up to which Next has given out all events,
	// or has seen that there are none.
	Version() uint64
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
