package etcd2

import (
	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/cache"
)

// writeObject writes an object that is one key.
func (s *Store) writeObject(c storage.Change, budget budget) (*storage.Object, error) {
	value, err := cache.Encode(c.Object)
	if err == nil {
		err = budget.left()
	}
	if err != nil {
		return nil, err
	}
	own := &cache.Change{Key: cache.Place{Kind: c.Kind, ID: c.ID}.Key(), Object: c.Object}
	switch c.Expected {
	case storage.Absent:
		err = s.cache.Write(own, func() (*etcd.Response, error) { return s.cache.Client.Create(own.Key, value, 0) })
		if cache.HasCode(err, cache.AlreadyExists) {
			return nil, api.NewAlreadyExists(c.Kind, c.ID)
		}
	case storage.Blind: // the proxy reacts to this action only
		err = s.cache.Write(own, func() (*etcd.Response, error) { return s.cache.Client.Set(own.Key, value, 0) })
	default:
		now, err := s.expected(c)
		if err != nil {
			return nil, err
		}
		own.Created = now.Created
		return s.swapObject(c, own, value, c.Expected)
	}
	if err != nil {
		return nil, cache.Failed(budget.operation, err)
	}
	return own.Written, nil
}

// deleteObject deletes an object that is one key. Another program may have put
// something else into its place: that stays, if any version will do.
func (s *Store) deleteObject(c storage.Change, budget budget) error {
	own := &cache.Change{Key: cache.Place{Kind: c.Kind, ID: c.ID}.Key()}
	err := s.cache.Write(own, func() (*etcd.Response, error) {
		if c.Expected >= storage.Blind {
			return s.cache.Client.Delete(own.Key, false)
		}
		return s.cache.Client.CompareAndDelete(own.Key, "", c.Expected)
	})
	switch {
	case c.Expected == storage.Any || c.Expected == storage.Blind:
		err = cache.Ignore(err, cache.NotFound, cache.NotAFile, cache.NotADirectory)
	case cache.HasCode(err, cache.NotFound):
		return api.NewNotFound(c.Kind, c.ID)
	case cache.HasCode(err, cache.CompareFailed):
		return api.NewConflict("%s %s has changed", c.Kind, api.Quote(c.ID))
	}
	return cache.Failed(budget.operation, err)
}

// swapObject replaces an object that has a version.
func (s *Store) swapObject(update storage.Change, own *cache.Change, value string, version uint64) (*storage.Object, error) {
	err := s.cache.Write(own, func() (*etcd.Response, error) { return s.cache.Client.CompareAndSwap(own.Key, value, 0, "", version) })
	switch {
	case cache.HasCode(err, cache.CompareFailed):
		return nil, api.NewConflict("%s %s has changed", update.Kind, api.Quote(update.ID))
	case cache.HasCode(err, cache.NotFound):
		return nil, api.NewNotFound(update.Kind, update.ID)
	case err != nil:
		return nil, cache.Failed("update "+string(update.Kind), err)
	}
	return own.Written, nil
}
