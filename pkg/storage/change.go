package storage

import (
	"time"

	"kube2014/pkg/api"
)

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
