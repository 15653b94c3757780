// Package memory is a store that ends with its process. It is atomic.
package memory

import (
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Store keeps objects in memory: what it holds is the cache, and when objects end. It
// is safe for concurrent use.
type Store struct {
	*storage.Cache
	ends map[api.Key]*time.Timer // of the objects with a TTL; who updates the cache has it for themselves
}

var _ storage.Interface = (*Store)(nil)

// New returns an empty store. Its versions begin after the given one, which should
// be larger than any that an earlier process has given out: nobody can then go on
// watching from a version of that process.
func New(version uint64) *Store {
	return &Store{storage.NewCache(version), map[api.Key]*time.Timer{}}
}

// Cached implements storage.Interface: the cache is the store.
func (s *Store) Cached() storage.Reader { return s.Cache }

// Commit implements storage.Interface.
func (s *Store) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	written := make([]*storage.Object, len(changes))
	err := s.Update(func(tx *storage.Tx) (err error) {
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

// setEnd lets what was written, nil for nothing, be deleted after its TTL. If it has been
// changed by then, the deletion fails, as it should.
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
