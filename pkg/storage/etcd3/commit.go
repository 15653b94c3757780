package etcd3

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/values"
)

// Commit implements storage.Interface. It tries the changes on what is cached, and makes
// what they come to in one transaction, unless something that they depend on is not as it
// was cached; then it tries them again on what is there.
func (s *Store) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	s.begin()
	operation, began := changes[0].InWords(), changes[0].Began
	if began.IsZero() {
		began = time.Now()
	}
	for _, change := range changes {
		if task, ok := change.Object.(*api.Task); ok {
			if err := s.ports.Take(task); err != nil {
				return nil, err
			}
			defer s.ports.Release(task)
		}
	}
	written, err := s.commit(operation, began, changes)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) { // so nothing is written
		s.leases.forget()
		written, err = s.commit(operation, began, changes)
	}
	return written, err
}

// commit makes changes of a request that began at a time.
func (s *Store) commit(operation string, began time.Time, changes []storage.Change) ([]*storage.Object, error) {
	leases, err := s.leases.of(changes)
	if err != nil {
		return nil, failed(operation, err)
	}
	now, isFresh := s.cache, false
	for {
		p, err := s.plan(now, changes, leases)
		switch {
		case (err != nil || len(p.last) == 0) && !isFresh:
			if now, err = s.fresh(operation); err != nil {
				return nil, err
			}
			isFresh = true
			continue
		case err != nil:
			return nil, err
		case len(p.last) == 0:
			return p.written, nil
		case time.Since(began) > s.timeout:
			return nil, unavailable(operation, "the store is too slow; try again", nil)
		}
		floor := s.floor()
		done, err := s.client.Do(context.Background(), clientv3.OpTxn(p.conditions, slices.Collect(maps.Values(p.last)), nil))
		if err != nil {
			return nil, failed(operation, err)
		}
		revision := done.Txn().Header.Revision
		s.hear(revision, floor)
		if done.Txn().Succeeded {
			p.setVersions(uint64(revision))
			return p.written, nil
		}
		if isFresh && p.revision >= revision { // so the conditions hold, if the cache is what etcd has
			s.followAnew()
			return nil, unavailable(operation, "etcd has other values than it has shown; try again", nil)
		}
		if now, err = s.reach(operation, revision); err != nil {
			return nil, err
		}
		isFresh = true
	}
}

// plan is what a commit comes to.
type plan struct {
	revision   int64                  // of what it was tried on
	conditions []clientv3.Cmp         // that everything that was looked at is still as it was
	last       map[string]clientv3.Op // the operation on each key
	written    []*storage.Object      // for each change
	created    map[place]uint64       // of what was there
}

// plan tries changes on a state. Some objects that they write have leases.
func (s *Store) plan(now *state, changes []storage.Change, leases map[place]clientv3.LeaseID) (*plan, error) {
	p := &plan{last: map[string]clientv3.Op{}, written: make([]*storage.Object, len(changes)), created: map[place]uint64{}}
	now.mu.Lock()
	defer now.mu.Unlock()
	p.revision = now.revision
	events, err := now.objects.Try(func(tx *storage.Tx) (err error) {
		for i, change := range changes {
			at := place{change.Kind, change.ID}
			if _, again := p.created[at]; !again {
				if change, err = p.look(s.keys.object(at), at, change, tx.Get(at.kind, at.id), now.broken[at]); err != nil {
					return err
				}
			}
			if p.written[i], err = tx.Apply(change); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	return p, p.add(s.keys, events, now, leases)
}

// look notes what is in the key of a change, so that the transaction fails if that is not
// there any more. What cannot be decoded is there too: it can be deleted and, but for a
// task, replaced.
func (p *plan) look(key string, at place, change storage.Change, object *storage.Object, bad *broken) (storage.Change, error) {
	version := uint64(0)
	p.created[at] = 0
	switch {
	case object != nil:
		version, p.created[at] = object.Version(), object.Meta().CreationVersion
	case bad != nil:
		version, p.created[at] = bad.version, bad.created
		switch {
		case change.Expected == storage.Absent:
			return change, api.NewAlreadyExists(change.Kind, change.ID)
		case change.Expected != bad.version && change.Expected != storage.Present && !change.Unconditional():
			return change, api.NewConflict("%s %s has changed", change.Kind, api.Quote(change.ID))
		case change.Kind == api.TaskKind && change.Action == storage.Write:
			return change, bad.err // nobody knows which host ports it has
		case change.Action == storage.Remove:
			p.last[key] = clientv3.OpDelete(key)
		}
		change.Expected = storage.Any
	}
	p.conditions = append(p.conditions, clientv3.Compare(clientv3.ModRevision(key), "=", int64(version)))
	return change, nil
}

// add adds the operations that some events come to: of each key the last one. The caller
// holds the lock of the state.
func (p *plan) add(k keys, events []storage.Event, now *state, leases map[place]clientv3.LeaseID) error {
	for _, event := range events {
		object := event.After
		if object == nil {
			object = event.Before
		}
		at := place{object.GetKind(), object.GetID()}
		key := k.object(at)
		if event.After == nil {
			p.last[key] = clientv3.OpDelete(key)
		} else {
			value, err := values.EncodeWhole(event.After.Object)
			if err != nil {
				return err
			}
			p.last[key] = clientv3.OpPut(key, value, clientv3.WithLease(leases[at]))
		}
		id, had, has := object.GetID(), storage.HostPortsOf(event.Before), storage.HostPortsOf(event.After)
		for _, port := range had {
			key := k.hostPort(port)
			if !slices.Contains(has, port) && p.owner(k, key, now) == id {
				p.last[key] = clientv3.OpDelete(key)
			}
		}
		for _, port := range has {
			if slices.Contains(had, port) {
				continue
			}
			key := k.hostPort(port)
			if owner := p.owner(k, key, now); owner != "" && owner != id {
				return api.NewHostPortTaken(id, port.Port, port.Machine, owner)
			}
			p.last[key] = clientv3.OpPut(key, id)
		}
	}
	for key, op := range p.last {
		if k.isHostPort(key) && op.IsPut() {
			p.conditions = append(p.conditions, clientv3.Compare(clientv3.ModRevision(key), "=", now.ports[key].revision))
		}
	}
	return nil
}

// owner returns the task that has the host port of a key after the operations so far. The
// caller holds the lock of the state.
func (p *plan) owner(k keys, key string, now *state) (taskID string) {
	if op, ok := p.last[key]; ok {
		return string(op.ValueBytes())
	}
	return now.owner(k, key)
}

// setVersions gives the objects the version that etcd has made them.
func (p *plan) setVersions(revision uint64) {
	for i, object := range p.written {
		if object == nil {
			continue
		}
		created := p.created[place{object.GetKind(), object.GetID()}]
		if created == 0 {
			created = revision
		}
		p.written[i] = storage.NewObject(object.Object, revision, created)
	}
}
