package storage

import (
	"slices"
	"time"
)

// WithTTL wraps a store so that each change gets the TTL. If the TTL is 0, it returns the store
// itself.
func WithTTL(store Interface, ttl time.Duration) Interface {
	if ttl == 0 {
		return store
	}
	return ttlStore{store, ttl}
}

// ttlStore implements Interface and Clock.
type ttlStore struct {
	Interface
	ttl time.Duration
}

func (s ttlStore) Commit(changes ...Change) ([]*Object, error) {
	changes = slices.Clone(changes) // the caller owns the slice
	for i := range changes {
		changes[i].TTL = s.ttl
	}
	return s.Interface.Commit(changes...)
}

func (s ttlStore) Now() time.Time { return ClockOf(s.Interface)() }
