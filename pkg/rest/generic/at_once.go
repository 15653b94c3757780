package generic

import (
	"time"

	"kube2014/pkg/storage"
)

// AtOnce is a store that updates its cache before it acknowledges a change, for objects by which the server decides from
// its cache, such as roles and quotas: its next decision obeys what it has acknowledged. That costs one more call of the
// store for each change. The caches of other servers follow soon. It is safe for concurrent use.
type AtOnce struct{ storage.Interface }

var _ storage.Clock = AtOnce{}

// Commit implements storage.Interface.
func (a AtOnce) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	written, err := a.Interface.Commit(changes...)
	if err == nil {
		_, _ = a.Version() // a cache is never older than what was read; if that fails, it follows a moment later
	}
	return written, err
}

// Now implements storage.Clock.
func (a AtOnce) Now() time.Time { return storage.ClockOf(a.Interface)() }
