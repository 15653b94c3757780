package etcd2

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/cache"
	"kube2014/pkg/storage/values"
)

// writeObject writes an object that has only one key. The proxy reacts only to the
// action of a blind write.
func (s *Store) writeObject(change storage.Change) (*storage.Object, error) {
	budget := s.clock.budget(change)
	value, err := values.EncodeWhole(change.Object)
	if err != nil {
		return nil, err
	}
	if err := budget.check(); err != nil {
		return nil, err
	}
	own := &cache.Change{Key: cache.PlaceOf(change.Key).Key(), Object: change.Object, TTL: uint64(change.TTLSeconds())}
	if change.Expected != storage.Absent && change.Expected != storage.Blind {
		now, err := s.expected(change)
		if err != nil {
			return nil, err
		}
		own.Created = now.Created
	}
	err = s.cache.Put(own, value, change.Expected)
	return own.Written, failed(budget.operation, change, err)
}

// deleteObject deletes an object that has only one key. An unconditional delete
// leaves alone what another program has put in its place, such as a directory.
func (s *Store) deleteObject(change storage.Change) error {
	err := s.cache.Remove(cache.PlaceOf(change.Key).Key(), change.Expected)
	if change.Unconditional() {
		err = cache.Ignore(err, cache.NotAFile, cache.NotADirectory)
	}
	return failed("delete "+string(change.Key.Kind), change, err)
}

// failed translates the error of a change that etcd has refused, or that failed on
// the way to it; nil stays nil.
func failed(operation string, change storage.Change, err error) error {
	switch {
	case cache.HasCode(err, cache.AlreadyExists):
		return api.NewAlreadyExists(change.Key.Kind, change.Key.ID)
	case cache.HasCode(err, cache.CompareFailed):
		return api.NewConflict("%s has changed", change.Key.InWords())
	case cache.HasCode(err, cache.NotFound):
		return api.NewNotFound(change.Key.Kind, change.Key.ID)
	}
	return cache.Failed(operation, err)
}

// deleteUnchanged deletes a key unless it has changed.
func (s *Store) deleteUnchanged(operation, key string, version uint64) error {
	return cache.Failed(operation, cache.Ignore(s.cache.Remove(key, version), cache.NotFound, cache.CompareFailed))
}
