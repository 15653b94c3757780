package etcd3

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/storage/values"
)

// Reconcile deletes the keys of claims whose object is gone: another program has deleted
// it. This package leaves none. It ends with the first error.
func (s *Store) Reconcile() error {
	now, err := s.fresh("reconcile")
	if err != nil {
		return err
	}
	for _, orphan := range s.orphans(now) {
		if _, err := s.client.Do(context.Background(), orphan); err != nil {
			return failed("delete the key of a claim", err)
		}
	}
	return nil
}

// orphans returns what deletes each key of a claim whose object does not hold it, unless
// the key or the object has changed.
func (s *Store) orphans(now *state) (deletions []clientv3.Op) {
	now.mu.Lock()
	defer now.mu.Unlock()
	for key, claim := range now.claims {
		of, ok := values.KeyAt(claim.owner)
		if _, held := now.owner(s.keys, key); held || !ok { // what is no path, another program means
			continue
		}
		version := int64(0)
		if object, err := now.objects.Get(of); err == nil {
			version = int64(object.Version())
		}
		deletions = append(deletions, clientv3.OpTxn([]clientv3.Cmp{
			clientv3.Compare(clientv3.ModRevision(key), "=", claim.revision),
			clientv3.Compare(clientv3.ModRevision(s.keys.object(of)), "=", version),
		}, []clientv3.Op{clientv3.OpDelete(key)}, nil))
	}
	return deletions
}
