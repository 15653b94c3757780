package etcd3

import (
	"context"
	"errors"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Reconcile deletes the keys of host ports whose task is gone: another program has deleted
// it. This package leaves none. The error joins all failures.
func (s *Store) Reconcile() error {
	now, err := s.fresh("reconcile")
	if err != nil {
		return err
	}
	var failures []error
	for _, orphan := range s.orphans(now) {
		if _, err := s.client.Do(context.Background(), orphan); err != nil {
			failures = append(failures, failed("delete the key of a host port", err))
		}
	}
	return errors.Join(failures...)
}

// orphans returns what deletes each key of a host port whose task does not have it, unless
// the key or the task has changed.
func (s *Store) orphans(now *state) (deletions []clientv3.Op) {
	now.mu.Lock()
	defer now.mu.Unlock()
	for key, port := range now.ports {
		at := place{api.TaskKind, port.taskID}
		if now.broken[at] != nil || api.ValidateID(port.taskID) != nil { // nobody knows which host ports it has, or it is no task's
			continue
		}
		version := int64(0)
		if task, err := now.objects.Get(at.kind, at.id); err == nil {
			if slices.ContainsFunc(storage.HostPortsOf(task), func(has storage.HostPort) bool { return s.keys.hostPort(has) == key }) {
				continue
			}
			version = int64(task.Version())
		}
		deletions = append(deletions, clientv3.OpTxn([]clientv3.Cmp{
			clientv3.Compare(clientv3.ModRevision(key), "=", port.revision),
			clientv3.Compare(clientv3.ModRevision(s.keys.object(at)), "=", version),
		}, []clientv3.Op{clientv3.OpDelete(key)}, nil))
	}
	return deletions
}
