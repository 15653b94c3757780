package etcd3

import "kube2014/pkg/storage"

// cached reads the newest state of etcd in this process: the cache or, if that is newer, the
// state that a read has found in etcd.
type cached struct {
	storage.ReaderFunc
	store *Store
}

// Cached implements storage.Interface.
func (s *Store) Cached() storage.Reader {
	return cached{func(string) (storage.Reader, error) { return s.newest().objects, nil }, s}
}

// Watch implements storage.Reader. Only the cache receives changes.
func (c cached) Watch(selection storage.Selection, after uint64) (storage.Watcher, error) {
	if version, _ := c.store.newest().objects.Version(); after <= version {
		c.store.cache.objects.Expect(after)
	}
	return c.store.cache.objects.Watch(selection, after)
}

// retain stores the state that a read has found until the cache is newer, unless etcd has lost
// its data since the read began.
func (s *Store) retain(found *state, losses int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.losses == losses {
		s.found = found
	}
}

// newest returns the newest state in this process.
func (s *Store) newest() *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found != nil {
		if !s.cache.reaches(s.found.revision) {
			return s.found
		}
		s.found = nil
	}
	return s.cache
}
