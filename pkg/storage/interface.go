// Package storage stores versioned objects, and reports each change to watchers.
// Each package below it implements Interface: memory, and the versions of etcd.
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
// Their results are shared: the caller must not change them.
//
// A store has a version, a number that each change increases. Each object has
// the version of its last change and that of its creation. Each list has the
// version of the store that it shows.
type Reader interface {
	// Get returns an object, or an api.NotFound error.
	Get(key api.Key) (*Object, error)
	// List returns the selected objects, sorted by namespace and id.
	List(selection Selection) (*List, error)
	// ListAt is List as of an earlier version of the store. The error is an api.Expired one
	// if the history does not include that version.
	ListAt(selection Selection, version uint64) (*List, error)
	// FirstFree returns the first candidate whose claims no other object holds, nil if there
	// is none. The candidates are variants of one object, such as a task on each machine; a
	// candidate is used only until the next one is yielded.
	FirstFree(candidates iter.Seq[api.Object]) (api.Object, error)
	// Version returns the store's present version.
	Version() (uint64, error)
	// Changed returns the version after the last change of a kind, or a later one if the
	// history has dropped that change.
	Changed(kind api.Kind) (uint64, error)
	// Watch returns a watcher of the changes after a version to objects that match the
	// selection before or after the change. The error is an api.Expired one if the history
	// lacks some of them. The caller must stop the watcher.
	Watch(selection Selection, after uint64) (Watcher, error)
}

// Selection selects objects of one kind. An empty field selects all.
type Selection struct {
	Kind      api.Kind
	Namespace string
	Labels    map[string]string // the object must have all of them
	Machine   string            // of an api.Placed object
}

// InDefault selects the objects of a kind in the namespace default, or all nodes, which have no namespace.
func InDefault(kind api.Kind) Selection {
	return Selection{Kind: kind, Namespace: api.DefaultKey(kind, "").Namespace}
}

// With returns a selection that also requires labels.
func (s Selection) With(labels map[string]string) Selection {
	s.Labels = labels
	return s
}

// Includes reports whether the selection includes an object of its kind; false for nil.
func (s Selection) Includes(object *Object) bool {
	if object == nil || (s.Namespace != "" && object.Key().Namespace != s.Namespace) {
		return false
	}
	return (s.Machine == "" || machineOf(object) == s.Machine) && Carries(object.GetLabels(), s.Labels)
}

// machineOf returns the machine that runs an object, "" for none.
func machineOf(object *Object) string {
	if object != nil {
		if placed, ok := object.Object.(api.Placed); ok {
			return placed.Machine()
		}
	}
	return ""
}

// Interface is a store. It is linearizable: a read sees every change that was
// acknowledged before the read began, by any process. An error is an api.Unavailable
// one if the store cannot be reached; then it is unknown whether a change was made.
//
// It is the smallest form of what Kubernetes later named storage.Interface:
// Create, Delete and a conditional update are a Change, GuaranteedUpdate is a
// function over Interface, Count is the length of a List, Versioner became the
// metadata of each object.
type Interface interface {
	Reader
	// Cached returns a reader of the store's cache in this process. It may be
	// stale, but is never older than anything that the process has read from
	// the store before.
	Cached() Reader
	// Commit makes related changes, and returns the object that each change wrote, nil
	// if it wrote none. An atomic store makes all changes or none, and readers see all
	// or none. Any other store makes them in order, and repairs later what a failure or
	// a crash between two of them leaves; a check after the creation of objects holds after
	// it too, or the objects are deleted again. The store owns the objects passed in, even if
	// Commit fails.
	//
	// If an object does not have the expected version, nothing is changed. The error is
	// an api.AlreadyExists one if the object must be absent, api.NotFound if it is
	// absent, else api.Conflict. It is api.HostPortTaken if another object holds a claim
	// of a written one, and that of CheckUpdate if an api.Placed object refuses its
	// successor. A pod is assigned its machine, and its host ports there, at its
	// creation or by one later change.
	Commit(changes ...Change) ([]*Object, error)
}

// Change is a conditional change of one object.
type Change struct {
	Key      api.Key
	Expected uint64 // the version that the object must have, or one of the constants below
	Action   Action
	Object   api.Object // what to write

	// TTL is the time from the write until the store deletes the object; 0 means never, even
	// if the previous version had a TTL. The store deletes it within about two seconds; etcd3
	// is up to a twentieth of the TTL later, at most a minute. It must not be negative, nor
	// set for tasks.
	TTL time.Duration
	// Began is when the request of the change began; zero means now. A store that bounds
	// the duration of a request counts from then.
	Began time.Time
}

// Action is what a change does.
type Action string

// The actions.
const (
	Write  Action = "write"
	Remove Action = "remove"
	Check  Action = "check" // writes nothing, only requires the expected version
)

// Special values of Change.Expected, which are not versions.
const (
	Absent  uint64 = 0         // the object must not exist
	Present uint64 = 1<<64 - 1 // the object must exist, with any version
	Any     uint64 = 1<<64 - 2 // the object may or may not exist
	Blind   uint64 = 1<<64 - 3 // writes without reading first: a replaced object may count as new
)

// Unconditional reports whether the change expects no version.
func (c Change) Unconditional() bool { return c.Expected == Any || c.Expected == Blind }

// TTLSeconds returns the TTL in seconds, rounded up.
func (c Change) TTLSeconds() int64 {
	seconds := int64(c.TTL / time.Second)
	if c.TTL%time.Second > 0 {
		seconds++
	}
	return seconds
}

// InWords describes the change, for example "create task", for errors.
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

// ListInWords describes a list, for example "list tasks", for errors.
func ListInWords(kind api.Kind) string {
	if strings.Contains(string(kind), ".") { // a resource and its group
		return "list " + string(kind)
	}
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

// DeleteService returns the changes that delete a service and its endpoints, if any (D14).
func DeleteService(key api.Key, expected uint64) []Change {
	endpoints := api.Key{Kind: api.EndpointsKind, Namespace: key.Namespace, ID: key.ID}
	return []Change{Delete(key, expected), Delete(endpoints, Any)}
}

// Require writes nothing, but makes a commit fail unless the object exists.
func Require(key api.Key) Change {
	return Change{Key: key, Expected: Present, Action: Check}
}

// CommitOne makes one change, and returns the written object, nil if there is none.
func CommitOne(store Interface, change Change) (*Object, error) {
	written, err := store.Commit(change)
	if err != nil {
		return nil, err
	}
	return written[0], nil
}

// Undecodable wraps a decoding error. Get returns it, in an *api.Error, for corrupt
// objects. An update may replace such an object, unless it is a task.
type Undecodable struct {
	Version uint64
	Err     error
}

// Error returns the text of the decoding error.
func (u *Undecodable) Error() string { return u.Err.Error() }

// Unwrap returns the decoding error.
func (u *Undecodable) Unwrap() error { return u.Err }

// Clock is an optional interface of a store with a clock of its own.
type Clock interface {
	Now() time.Time
}

// CheckExpected returns an error if an object, nil for none, does not have the version
// that the change expects, or if an api.Placed object refuses its successor.
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

// Watcher returns the changes of the selected objects in order, each once. Only one
// goroutine at a time may use it. A slow watcher does not block others.
type Watcher interface {
	// Next blocks until there are events, and returns at least one; the events of one
	// commit come together. The slice is valid until the next call. If the context ends
	// first, Next returns its error. If the history has dropped an event that the watcher
	// has not read, this and all later calls return an api.Expired error.
	Next(context.Context) ([]Event, error)
	// Version returns the version of the store up to which Next has returned all events.
	Version() uint64
	// Stop releases the watcher, which must not be used afterwards.
	Stop()
}

// Event is one change of an object.
type Event struct {
	Type    EventType
	Version uint64  // of the store, after the change
	Before  *Object // nil if it was added
	After   *Object // nil if it was deleted

	size int  // of the replaced object that the history retains, in bytes
	last bool // whether it is the last event of its commit
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

// Copy returns an object with metadata of its own, which shares all other values that the object points to.
func Copy(object api.Object) api.Object {
	copied := reflect.New(reflect.TypeOf(object).Elem())
	copied.Elem().Set(reflect.ValueOf(object).Elem())
	return copied.Interface().(api.Object)
}

// EventType is what happened to an object.
type EventType string

// The types of events, in today's words.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
)
