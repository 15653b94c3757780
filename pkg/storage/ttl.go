package storage

import (
	"slices"
	"time"
)

// WithTTL returns a store of the same objects that sets the TTL of each change. A TTL of 0 leaves
// the changes as they are.
func WithTTL(store Interface, ttl time.Duration) Interface {
	if ttl == 0 {
		return store
	}
	return ending{store, ttl}
}

// ending implements Interface and Clock.
type ending struct {
	Interface
	ttl time.Duration
}

func (e ending) Commit(changes ...Change) ([]*Object, error) {
	changes = slices.Clone(changes) // they are the caller's
	for i := range changes {
		changes[i].TTL = e.ttl
	}
	return e.Interface.Commit(changes...)
}

func (e ending) Now() time.Time { return clockOf(e.Interface)() }
