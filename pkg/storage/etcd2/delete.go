package etcd2

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/manifestlist"
	"kube2014/pkg/storage/etcd2/mirror"
)

// find locates a task by its index key, or in the mirror if another program wrote
// the task without one. The mirror is then not older than the index key that was
// read.
func (s *Store) find(operation, taskID string) (location, error) {
	found, err := s.readIndexKey(operation, taskID)
	if err == nil {
		err = s.mirror.Reach(operation, found.seen)
	}
	if err != nil || found.version != 0 {
		return found, err
	}
	copies := s.mirror.Copies(api.DefaultKey(api.TaskKind, taskID))
	if len(copies) == 0 {
		return found, api.NewNotFound(api.TaskKind, taskID)
	}
	if copies[0].Created > found.seen { // its index key was read before the task was created
		if found, err = s.readIndexKey(operation, taskID); err != nil || found.version != 0 {
			return found, err
		}
	}
	found.Place = copies[0].Place
	return found, nil
}

// deleteTask deletes the task, its manifest and its index key. Once its own key is
// deleted, the task is gone; if the rest fails, Reconcile repairs it. Each of the
// three writes is conditional on the version read, so that a delayed call deletes
// nothing of a newer task.
func (s *Store) deleteTask(remove storage.Change) error {
	budget := s.clock.budget(remove)
	found, err := s.find(budget.operation, remove.Key.ID)
	if err != nil {
		return err
	}
	for machine, task := s.cachedAt(found.Place); ; {
		if err := budget.check(); err != nil {
			return err
		}
		switch {
		case task == nil:
			return api.NewNotFound(api.TaskKind, remove.Key.ID)
		case task.Dir:
			return task.Err
		case task.Created > found.seen: // newer than the index key, which is an earlier task's
			if found, err = s.find(budget.operation, remove.Key.ID); err != nil {
				return err
			}
			machine, task = s.cachedAt(found.Place)
			continue
		case machine.Broken != nil:
			return machine.Broken.Err
		case remove.Expected != task.Version && remove.Expected != storage.Present && !remove.Unconditional():
			return api.NewConflict("task %s has changed", api.Quote(remove.Key.ID))
		}
		err := s.mirror.Remove(task.Key, task.Version)
		if err == nil {
			return s.deleteRest(remove.Key.ID, found, machine.WithTask(task.Place, nil, machine.Version), budget)
		}
		if !mirror.HasCode(err, mirror.CompareFailed) {
			return failed(remove, err)
		}
		if err := budget.check(); err != nil { // it was updated, or created again
			return err
		}
		if machine, task, err = s.readAt(budget.operation, found.Place); err != nil {
			return err
		}
	}
}

// cachedAt returns the task in a place, nil for none, and its machine. For a corrupt pod,
// this is the machine whose list has its manifest.
func (s *Store) cachedAt(p mirror.Place) (*mirror.Machine, *mirror.Stored) {
	if !p.IsPod() {
		machine := s.mirror.Machine(p.Machine)
		return machine, machine.At(p)
	}
	pod := s.mirror.At(p)
	if pod == nil {
		return nil, nil
	}
	if pod.Err != nil {
		for _, machine := range s.mirror.Machines() {
			if machine.Manifest(p.ID) != nil && machine.Task(p.ID) == nil {
				return machine, pod
			}
		}
	}
	return s.mirror.Machine(pod.Host()), pod
}

// readAt is like cachedAt, but reads from etcd.
func (s *Store) readAt(operation string, p mirror.Place) (*mirror.Machine, *mirror.Stored, error) {
	if p.IsPod() {
		err := s.mirror.Fresh(operation)
		machine, pod := s.cachedAt(p)
		return machine, pod, err
	}
	machine, err := s.mirror.ReadMachine(p.Machine)
	return machine, machine.At(p), err
}

// deleteRest deletes the manifest and the index key of a task that has been deleted.
func (s *Store) deleteRest(taskID string, found location, machine *mirror.Machine, budget budget) error {
	if err := budget.check(); err != nil {
		return err
	}
	if machine.Name != "" {
		if err := s.removeFromList(machine.Name, taskID, found.version, machine); err != nil {
			return err
		}
	}
	if found.version == 0 { // Reconcile may have added it meanwhile
		now, err := s.readIndexKey(budget.operation, taskID)
		if err != nil || now.version == 0 || now.Place != found.Place {
			return err
		}
		found.version = now.version
	}
	return s.deleteUnchanged(budget.operation, mirror.IndexKeyOf(taskID), found.version)
}

// removeFromList removes a task's manifest from a machine's list, unless the task's index
// key has changed: the manifest may then be a newer task's. It fences a pod without a
// machine, so that a concurrent assignment to this machine fails. version is that of the
// index key as it was read, 0 if there was none. For machine see seen in lists.change.
func (s *Store) removeFromList(name, taskID string, version uint64, machine *mirror.Machine) error {
	return s.lists.change(name, taskID, machine, func(m *mirror.Machine) ([]manifestlist.Manifest, error) {
		if m.Task(taskID) != nil || (m.Broken == nil && m.Manifest(taskID) == nil) {
			return nil, nil // it has been created again, or it is not in the list
		}
		if machine != nil && m.ListVersion == machine.ListVersion {
			return m.Without(taskID), nil
		}
		if api.ValidateID(taskID) == nil {
			// The list was read before: if the index key is changed or created after
			// this, so is the list, and the swap fails. An invalid id has no index
			// key.
			now, _, err := s.mirror.Read(mirror.IndexKeyOf(taskID), false)
			if err != nil {
				return nil, mirror.Failed("read the index", err)
			}
			if now != nil && now.ModifiedIndex != version {
				return nil, nil
			}
		}
		switch pod := s.mirror.At(mirror.PodPlace(taskID)); {
		case pod == nil:
		case pod.Err != nil: // it may be on this machine
			return nil, nil
		case pod.Host() == name: // assigned since the list was read
			return nil, errStale
		case pod.Host() == "": // a request that assigns it to this machine may have written the list
			if _, err := s.fence(m, pod); err != nil {
				return nil, err
			}
		}
		return m.Without(taskID), nil
	})
}
