package etcd2

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/mirror"
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
	own := &mirror.Change{Key: mirror.PlaceOf(change.Key).Key(), Object: change.Object, TTL: uint64(change.TTLSeconds())}
	if change.Expected != storage.Absent && change.Expected != storage.Blind {
		now, err := s.expected(change)
		if err != nil {
			return nil, err
		}
		own.Created = now.Created
	}
	err = s.mirror.Put(own, value, change.Expected)
	return own.Written, failed(change, err)
}

// deleteObject deletes an object that has only one key. An unconditional delete
// leaves alone what another program has put in its place, such as a directory.
func (s *Store) deleteObject(change storage.Change) error {
	err := s.mirror.Remove(mirror.PlaceOf(change.Key).Key(), change.Expected)
	if change.Unconditional() {
		err = mirror.Ignore(err, mirror.NotAFile, mirror.NotADirectory)
	}
	return failed(change, err)
}

// failed translates the error of a change that etcd has refused, or that failed on
// the way to it; nil stays nil.
func failed(change storage.Change, err error) error {
	switch {
	case mirror.HasCode(err, mirror.AlreadyExists):
		return api.NewAlreadyExists(change.Key.Kind, change.Key.ID)
	case mirror.HasCode(err, mirror.CompareFailed):
		return api.NewConflict("%s has changed", change.Key.InWords())
	case mirror.HasCode(err, mirror.NotFound):
		return api.NewNotFound(change.Key.Kind, change.Key.ID)
	}
	return mirror.Failed(change.InWords(), err)
}

// deleteUnchanged deletes a key unless it has changed.
func (s *Store) deleteUnchanged(operation, key string, version uint64) error {
	return mirror.Failed(operation, mirror.Ignore(s.mirror.Remove(key, version), mirror.NotFound, mirror.CompareFailed))
}
