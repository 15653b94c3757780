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
	"kube2014/pkg/storage/cacher"
	"kube2014/pkg/storage/values"
)

// Commit implements storage.Interface. It tries the changes on the cached state, and makes the
// resulting operations in one transaction, on condition that the state has not changed. If it
// has, it tries the changes again on the new state.
func (s *Store) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	s.begin()
	operation, began := changes[0].InWords(), changes[0].Began
	if began.IsZero() {
		began = time.Now()
	}
	for _, change := range changes {
		if change.Action == storage.Write {
			if err := s.claims.Take(change.Object); err != nil {
				return nil, err
			}
			defer s.claims.Release(change.Object)
		}
	}
	written, err := s.commit(operation, began, changes)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) { // so nothing is written
		s.leases.forget()
		written, err = s.commit(operation, began, changes)
	}
	return written, err
}

// commit makes the changes of a request. began is when the request began.
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
		s.observe(revision, floor)
		if done.Txn().Succeeded {
			p.setVersions(uint64(revision))
			return p.written, nil
		}
		if isFresh && p.revision >= revision { // the conditions hold if the cache is correct
			s.restartWatch()
			return nil, unavailable(operation, "etcd has other values than it has shown; try again", nil)
		}
		if now, err = s.reach(operation, revision); err != nil {
			return nil, err
		}
		isFresh = true
	}
}

// plan has the operations of a commit.
type plan struct {
	revision   int64                  // of the state on which it was tried
	conditions []clientv3.Cmp         // the keys on which it depends are unchanged
	last       map[string]clientv3.Op // the operation on each key
	written    []*storage.Object      // for each change
	created    map[api.Key]uint64     // the creation versions of the existing objects
}

// plan tries changes on a state. The leases are those of the objects with a TTL.
func (s *Store) plan(now *state, changes []storage.Change, leases map[api.Key]clientv3.LeaseID) (*plan, error) {
	p := &plan{last: map[string]clientv3.Op{}, written: make([]*storage.Object, len(changes)), created: map[api.Key]uint64{}}
	now.mu.Lock()
	defer now.mu.Unlock()
	if err := now.checkLayout(); err != nil {
		return p, err
	}
	p.revision = now.revision
	events, err := now.objects.Try(func(tx *cacher.Tx) (err error) {
		for i, change := range changes {
			at := change.Key
			if _, again := p.created[at]; !again {
				if change, err = p.look(s.keys.object(at), change, tx.Get(at), now.broken[at]); err != nil {
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

// look adds the condition that the key of a change is unchanged. A corrupt object counts as
// existing: it can be deleted and, unless it is a task, replaced.
func (p *plan) look(key string, change storage.Change, object *storage.Object, bad *broken) (storage.Change, error) {
	version, at := uint64(0), change.Key
	p.created[at] = 0
	switch {
	case object != nil:
		version, p.created[at] = object.Version(), object.Meta().CreationVersion
	case bad != nil:
		version, p.created[at] = bad.version, bad.created
		switch {
		case change.Expected == storage.Absent:
			return change, api.NewAlreadyExists(at.Kind, at.ID)
		case change.Expected != bad.version && change.Expected != storage.Present && !change.Unconditional():
			return change, api.NewConflict("%s has changed", at.InWords())
		case isPlaced(change.Object):
			return change, bad.err // its claims are unknown
		case change.Action == storage.Remove:
			p.last[key] = clientv3.OpDelete(key)
		}
		change.Expected = storage.Any
	}
	p.conditions = append(p.conditions, clientv3.Compare(clientv3.ModRevision(key), "=", int64(version)))
	return change, nil
}

func isPlaced(object api.Object) bool {
	_, placed := object.(api.Placed)
	return placed
}

// add adds the operations of events: the last one for each key. The caller holds the lock of
// the state.
func (p *plan) add(k keys, events []storage.Event, now *state, leases map[api.Key]clientv3.LeaseID) error {
	for _, event := range events {
		at := event.Key()
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
		had, has := claimsOf(event.Before), claimsOf(event.After)
		for _, claim := range had {
			key := k.claim(claim)
			if owner, held := p.owner(k, key, now); !slices.Contains(has, claim) && held && owner == at {
				p.last[key] = clientv3.OpDelete(key)
			}
		}
		for _, claim := range has {
			if slices.Contains(had, claim) {
				continue
			}
			key := k.claim(claim)
			if owner, held := p.owner(k, key, now); held && owner != at {
				return api.NewHostPortTaken(at.ID, claim.Number, claim.Space, owner.ID)
			}
			p.last[key] = clientv3.OpPut(key, values.Path(at))
		}
	}
	for key, op := range p.last {
		if k.isClaim(key) && op.IsPut() {
			p.conditions = append(p.conditions, clientv3.Compare(clientv3.ModRevision(key), "=", now.claims[key].revision))
		}
	}
	return nil
}

func claimsOf(object *storage.Object) []api.Claim {
	if object == nil {
		return nil
	}
	return object.AppendClaims(nil)
}

// owner returns the object that holds the claim of a key after the operations so far. The caller holds
// the lock of the state.
func (p *plan) owner(k keys, key string, now *state) (of api.Key, held bool) {
	if op, ok := p.last[key]; ok {
		return values.KeyAt(string(op.ValueBytes()))
	}
	return now.owner(k, key)
}

// setVersions sets the versions of the written objects to the revision of the transaction.
func (p *plan) setVersions(revision uint64) {
	for i, object := range p.written {
		if object == nil {
			continue
		}
		created := p.created[object.Key()]
		if created == 0 {
			created = revision
		}
		p.written[i] = storage.NewObject(object.Object, revision, created)
	}
}
