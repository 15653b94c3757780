// Package memory is a store that ends with its process. It is atomic.
package memory

import "kube2014/pkg/storage"

// Store keeps objects in memory: what it holds is the cache, and nothing else. It
// is safe for concurrent use.
type Store struct{ *storage.Cache }

var _ storage.Interface = (*Store)(nil)

// New returns an empty store. Its versions begin after the given one, which should
// be larger than any that an earlier process has given out: nobody can then go on
// watching from a version of that process.
func New(version uint64) *Store { return &Store{storage.NewCache(version)} }

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
		return nil
	})
	if err != nil {
		return nil, err
	}
	return written, nil
}
