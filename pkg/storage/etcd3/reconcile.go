package etcd3

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/storage/values"
)

// Reconcile deletes the keys of claims whose object another program has deleted. This package
// leaves none. It stops at the first error.
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

// orphans returns the operations that delete keys of claims which their objects do not hold, on
// condition that neither the key nor the object has changed.
func (s *Store) orphans(now *state) (deletions []clientv3.Op) {
	now.mu.Lock()
	defer now.mu.Unlock()
	for key, claim := range now.claims {
		of, ok := values.KeyAt(claim.owner)
		if _, held := now.owner(s.keys, key); held || !ok { // another program wrote a value that is not a path
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
