package etcd3

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
)

// Reconcile deletes the keys of host ports whose task is gone: another program has deleted
// it. This package leaves none. It ends with the first error.
func (s *Store) Reconcile() error {
	now, err := s.fresh("reconcile")
	if err != nil {
		return err
	}
	for _, orphan := range s.orphans(now) {
		if _, err := s.client.Do(context.Background(), orphan); err != nil {
			return failed("delete the key of a host port", err)
		}
	}
	return nil
}

// orphans returns what deletes each key of a host port whose task does not have it, unless
// the key or the task has changed.
func (s *Store) orphans(now *state) (deletions []clientv3.Op) {
	now.mu.Lock()
	defer now.mu.Unlock()
	for key, port := range now.ports {
		if now.owner(s.keys, key) != "" || api.ValidateID(port.taskID) != nil { // what is no id, another program means
			continue
		}
		at, version := place{api.TaskKind, port.taskID}, int64(0)
		if task, err := now.objects.Get(at.kind, at.id); err == nil {
			version = int64(task.Version())
		}
		deletions = append(deletions, clientv3.OpTxn([]clientv3.Cmp{
			clientv3.Compare(clientv3.ModRevision(key), "=", port.revision),
			clientv3.Compare(clientv3.ModRevision(s.keys.object(at)), "=", version),
		}, []clientv3.Op{clientv3.OpDelete(key)}, nil))
	}
	return deletions
}
