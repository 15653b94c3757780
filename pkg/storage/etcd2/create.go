package etcd2

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// A task is three writes: its index key, which makes its id unique in the cluster;
// its manifest in the machine's list, which decides about host ports; and its own
// key. A task exists if and only if its own key does; the other two are orphaned
// without it.

// createTask writes the index key, the list, the task.
func (s *Store) createTask(task *api.Task, began time.Time) (*storage.Object, error) {
	if !isName(task.CurrentState.Host) {
		return nil, &api.Error{Kind: api.Internal, Message: "task " + api.Quote(task.ID) + " has no machine"}
	}
	if !s.isLoaded() {
		if err := s.fresh("create task"); err != nil {
			return nil, err
		}
	}
	if err := s.checkUnclaimed(task.ID); err != nil {
		return nil, err
	}
	if err := s.ports.take(task); err != nil {
		return nil, err
	}
	defer s.ports.release(task)
	index, budget, err := s.claim(task, began)
	if err != nil {
		return nil, err
	}
	created, err := s.createClaimed(task, index, budget)
	switch api.KindOf(err) {
	case api.Unavailable, api.AlreadyExists:
		// Either the outcome of a write is unknown, and Reconcile repairs it; or
		// another program has written the task on this machine, so that the
		// index key is right.
	case "":
	default:
		s.releaseClaim(task.ID, index)
	}
	return created, err
}

// checkUnclaimed returns an error if another program has written a task with this
// id, on any machine, without an index key.
func (s *Store) checkUnclaimed(taskID string) error {
	for _, copy := range s.copies(api.TaskKind, taskID) {
		if err := s.checkAbsent(copy.machine, taskID); err != nil {
			return err
		}
	}
	return nil
}

// checkAbsent returns an api.AlreadyExists error when the task is on the machine.
func (s *Store) checkAbsent(machine, taskID string) error {
	node, _, err := s.get(taskKey(machine, taskID), false)
	if err == nil && node != nil {
		return api.NewAlreadyExists(api.TaskKind, taskID)
	}
	return failed("create task", err)
}

// claim writes a task's index key: it returns the key's version, and the budget of
// the request's further steps, on which others rely. If the key exists, the id is
// taken if its task exists too; if not, another request is creating or deleting the
// task, and claim waits for the outcome. It takes over an orphaned claim, unless the
// write of its task may be in flight.
func (s *Store) claim(task *api.Task, began time.Time) (uint64, budget, error) {
	tooLate := func() bool { return s.clock.now().Sub(began) >= maxClaimTime }
	machine, own := task.CurrentState.Host, &change{key: indexKeyOf(task.ID)}
	var theirs *etcd.Node
	var since time.Time
	for wait := 2 * time.Millisecond; !tooLate(); wait = min(2*wait, 200*time.Millisecond) {
		budget := s.budget("create task", time.Time{})
		err := s.write(own, func() (*etcd.Response, error) { return s.client.Create(own.key, machine, 0) })
		if err == nil {
			return own.index, budget, nil
		}
		if !hasCode(err, alreadyExists) {
			return 0, budget, failed("create task", err)
		}
		if tooLate() {
			break
		}
		entry, _, err := s.get(own.key, false)
		if err != nil {
			return 0, budget, failed("create task", err)
		}
		if entry == nil {
			continue
		}
		if tooLate() {
			break
		}
		if isName(entry.Value) {
			if err := s.checkAbsent(entry.Value, task.ID); err != nil {
				return 0, budget, err
			}
		}
		if theirs == nil || theirs.ModifiedIndex != entry.ModifiedIndex {
			theirs, since = entry, s.clock.now()
		}
		if s.clock.now().Sub(since) < claimPatience {
			s.clock.sleep(wait)
			continue
		}
		if inFlight, err := s.mayBeInFlight(entry, task.ID); err != nil || inFlight || tooLate() {
			return 0, budget, cmp.Or(err, claimedByOther(task.ID))
		}
		budget = s.budget("create task", time.Time{})
		err = s.write(own, func() (*etcd.Response, error) {
			return s.client.CompareAndSwap(own.key, machine, 0, "", entry.ModifiedIndex)
		})
		if err == nil {
			return own.index, budget, nil
		}
		if !hasCode(err, compareFailed, notFound) {
			return 0, budget, failed("create task", err)
		}
	}
	return 0, budget{}, claimedByOther(task.ID)
}

func claimedByOther(taskID string) error {
	return &api.Error{Kind: api.Unavailable, Message: "task " + api.Quote(taskID) +
		" is being created or deleted by another request that has not finished; try again in 20 seconds"}
}

// mayBeInFlight reports whether the task of an orphaned claim may still be created by
// a call in flight: such a call was sent only if the manifest is in the list. The
// claim is then left to Reconcile, which waits until etcd has given up the call.
func (s *Store) mayBeInFlight(entry *etcd.Node, taskID string) (bool, error) {
	if !isName(entry.Value) {
		return false, nil
	}
	machine, err := s.lists.readMachine(entry.Value)
	if err != nil {
		return false, err
	}
	return machine.broken != nil || machine.manifest(taskID) != nil, nil
}

// releaseClaim deletes an index key. If that fails, Reconcile does it later.
func (s *Store) releaseClaim(taskID string, version uint64) {
	_ = s.deleteIndexKey("create task", taskID, version)
}

// deleteIndexKey deletes an index key, unless it has changed.
func (s *Store) deleteIndexKey(operation, taskID string, version uint64) error {
	return s.deleteUnchanged(operation, indexKeyOf(taskID), version)
}

// deleteUnchanged deletes a key, unless it has changed.
func (s *Store) deleteUnchanged(operation, key string, version uint64) error {
	err := s.write(&change{key: key}, func() (*etcd.Response, error) { return s.client.CompareAndDelete(key, "", version) })
	return failed(operation, ignore(err, notFound, compareFailed))
}

// createClaimed writes the manifest and the task, or neither.
func (s *Store) createClaimed(task *api.Task, claimed uint64, budget budget) (*storage.Object, error) {
	value, err := encode(task)
	if err == nil {
		err = budget.left()
	}
	if err != nil {
		return nil, err
	}
	// The cache must not be older than the claim: another program may have written a
	// task with this id.
	err = s.reach("create task", claimed)
	if err == nil {
		err = s.checkUnclaimed(task.ID)
	}
	if err != nil {
		if api.KindOf(err) == api.AlreadyExists {
			s.releaseClaim(task.ID, claimed) // it may be on another machine
		}
		return nil, err
	}
	manifest, err := s.makeManifest(task)
	if err == nil {
		err = s.addToList(task, manifest, budget)
	}
	if err == nil {
		err = budget.left()
	}
	if err != nil {
		return nil, err
	}
	own := &change{key: taskKey(task.CurrentState.Host, task.ID), object: task}
	err = s.write(own, func() (*etcd.Response, error) { return s.client.Create(own.key, value, 0) })
	if err == nil {
		return own.written, nil
	}
	if hasCode(err, alreadyExists) {
		return nil, api.NewAlreadyExists(api.TaskKind, task.ID)
	}
	if err = failed("create task", err); api.KindOf(err) != api.Unavailable {
		if undoErr := s.removeFromList(task.CurrentState.Host, task.ID, claimed, nil); undoErr != nil {
			return nil, undoErr
		}
	}
	return nil, err
}

// makeManifest makes the manifest of a task, with the services that the cache has.
func (s *Store) makeManifest(task *api.Task) (manifest, error) {
	stored, err := s.objects.List(api.ServiceKind, nil)
	if err != nil {
		return manifest{}, err
	}
	services := make([]api.Service, len(stored.Items))
	for i, object := range stored.Items {
		services[i] = *object.Object.(*api.Service)
	}
	made, err := s.manifests(task.CurrentState.Host, *task, services)
	if err != nil {
		return manifest{}, err
	}
	value, err := encode(made)
	if err != nil {
		return manifest{}, err
	}
	return makeManifest(json.RawMessage(value))
}

// addToList adds the manifest of a new task to its machine's list, if its host
// ports are free there. It writes the list even if the same manifest, orphaned,
// is in it, so that a concurrent removal of the orphan fails.
func (s *Store) addToList(task *api.Task, added manifest, budget budget) error {
	name := task.CurrentState.Host
	return s.lists.change(name, task.ID, s.machineOf(name), func(m *machine) ([]manifest, error) {
		if err := budget.left(); err != nil {
			return nil, err
		}
		if m.task(task.ID) != nil {
			return nil, api.NewAlreadyExists(api.TaskKind, task.ID)
		}
		if err := m.checkPorts(task); err != nil {
			return nil, err
		}
		return m.replacing(added), nil
	})
}

// removeFromList removes a task's manifest from a machine's list, unless the task's
// index key has changed: the manifest may then be a newer task's. The version is that
// of the index key as it was read, 0 if there was none. For what is known see
// lists.change.
func (s *Store) removeFromList(name, taskID string, version uint64, known *machine) error {
	return s.lists.change(name, taskID, known, func(m *machine) ([]manifest, error) {
		if m.task(taskID) != nil || (m.broken == nil && m.manifest(taskID) == nil) {
			return nil, nil // it has been created again, or it is not in the list
		}
		if (known == nil || m.listVersion != known.listVersion) && api.ValidateID(taskID) == nil {
			// The list was read before: if the index key changes after this, so
			// does the list, and the swap fails. An invalid id has no index key.
			now, _, err := s.get(indexKeyOf(taskID), false)
			if err != nil {
				return nil, failed("read the index", err)
			}
			if (now == nil) != (version == 0) || (now != nil && now.ModifiedIndex != version) {
				return nil, nil
			}
		}
		return m.without(taskID), nil
	})
}
