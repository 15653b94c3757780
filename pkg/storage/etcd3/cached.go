package etcd3

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// cached is what this process knows of etcd: the cache or, if a read has had to go to etcd
// since, what that has found.
type cached struct{ store *Store }

var _ storage.Reader = cached{}

// Cached implements storage.Interface.
func (s *Store) Cached() storage.Reader { return cached{s} }

// keep keeps what a read has found until the cache is newer.
func (s *Store) keep(found *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = found
}

// newest returns the newest state that this process knows.
func (c cached) newest() *storage.Cache {
	s := c.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found != nil {
		if !s.cache.reaches(s.found.revision) {
			return s.found.objects
		}
		s.found = nil
	}
	return s.cache.objects
}

func (c cached) Get(kind api.Kind, id string) (*storage.Object, error) {
	return c.newest().Get(kind, id)
}

func (c cached) List(kind api.Kind, labels map[string]string) (*storage.List, error) {
	return c.newest().List(kind, labels)
}

func (c cached) ListAt(kind api.Kind, version uint64) (*storage.List, error) {
	return c.newest().ListAt(kind, version)
}

func (c cached) FirstFree(machines []string, task api.Task) (string, error) {
	return c.newest().FirstFree(machines, task)
}

func (c cached) Version() (uint64, error) { return c.newest().Version() }

// Watch implements storage.Reader. Only the cache gets changes.
func (c cached) Watch(kind api.Kind, after uint64) (storage.Watcher, error) {
	if version, _ := c.newest().Version(); after <= version {
		c.store.cache.objects.Expect(after)
	}
	return c.store.cache.objects.Watch(kind, after)
}
