// Package memory is a store that ends with its process. It is atomic.
package memory

import (
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/cacher"
)

// Store keeps objects in memory: its data is the cache, and the timers of TTLs. It is
// safe for concurrent use.
type Store struct {
	*cacher.Cache
	ends map[api.Key]*time.Timer // of the objects with a TTL; guarded by Cache.Update
}

var _ storage.Interface = (*Store)(nil)

// New returns an empty store. Its versions begin after the given one, which should be
// larger than all versions of earlier processes, so that no client can continue a watch
// of such a process.
func New(version uint64) *Store {
	return &Store{cacher.New(version), map[api.Key]*time.Timer{}}
}

// Cached implements storage.Interface: the cache is the store.
func (s *Store) Cached() storage.Reader { return s.Cache }

// Commit implements storage.Interface.
func (s *Store) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	written := make([]*storage.Object, len(changes))
	err := s.Update(func(tx *cacher.Tx) (err error) {
		for i, change := range changes {
			if written[i], err = tx.Apply(change); err != nil {
				return err
			}
		}
		for i, change := range changes {
			if change.Action != storage.Check {
				s.setEnd(change.Key, written[i], change.TTL)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return written, nil
}

// setEnd schedules the deletion of a written object, nil for none, after its TTL. The
// deletion fails if the object has changed by then.
func (s *Store) setEnd(at api.Key, written *storage.Object, ttl time.Duration) {
	if timer := s.ends[at]; timer != nil {
		timer.Stop()
		delete(s.ends, at)
	}
	if written == nil || ttl <= 0 {
		return
	}
	end := storage.Delete(at, written.Version())
	s.ends[at] = time.AfterFunc(ttl, func() { _, _ = s.Commit(end) })
}
