// Package storage stores versioned objects, and reports each change to watchers.
// Each package below it implements Interface: memory, and the versions of etcd.
package storage

import (
	"context"
	"iter"
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
