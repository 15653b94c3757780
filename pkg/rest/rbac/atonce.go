package rbac

import (
	"time"

	"kube2014/pkg/storage"
)

// atOnce is a store whose cache has what this process changes before the change is acknowledged:
// who was given a right may use it, and who has lost one has lost it. That costs one more call
// of the store for each change.
type atOnce struct{ storage.Interface }

var _ storage.Clock = atOnce{}

// Commit implements storage.Interface.
func (a atOnce) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	written, err := a.Interface.Commit(changes...)
	if err == nil {
		_, _ = a.Version() // a cache is never older than what was read; if that fails, it follows a moment later
	}
	return written, err
}

// Now implements storage.Clock.
func (a atOnce) Now() time.Time {
	if clock, ok := a.Interface.(storage.Clock); ok {
		return clock.Now()
	}
	return time.Now()
}
