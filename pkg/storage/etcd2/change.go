package etcd2

import (
	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// updateTask writes the list, then the task. Between the two the manifest is newer
// than the task; if it stays so, Reconcile restores it.
func (s *Store) updateTask(update storage.Change, budget budget) (*storage.Object, error) {
	task := update.Object.(*api.Task)
	if err := budget.left(); err != nil {
		return nil, err
	}
	value, err := encode(task)
	if err != nil {
		return nil, err
	}
	manifest, err := s.makeManifest(task)
	if err != nil {
		return nil, err
	}
	version, created, err := s.updateList(update, manifest)
	if err == nil {
		err = budget.left()
	}
	if err != nil {
		return nil, err
	}
	own := &change{key: taskKey(task.CurrentState.Host, task.ID), object: task, created: created}
	return s.swapObject(update, own, value, version)
}

// updateList writes the manifest of a new version of a task, and returns the version
// of the stored one, and that of its creation.
func (s *Store) updateList(update storage.Change, next manifest) (version, created uint64, err error) {
	task := update.Object.(*api.Task)
	name := task.CurrentState.Host
	err = s.lists.change(name, task.ID, s.machineOf(name), func(m *machine) ([]manifest, error) {
		now := m.task(task.ID)
		if now != nil && now.err != nil {
			return nil, now.err
		}
		if err := storage.CheckExpected(update, now.objectIn()); err != nil {
			return nil, err
		}
		if err := m.checkPorts(task); err != nil {
			return nil, err
		}
		created = now.created
		if m.consistent(now) {
			version = now.version
			return m.with(next), nil
		}
		var err error
		version, err = s.fence(m, now)
		return m.replacing(next), err
	})
	return version, created, err
}

// fence writes a task again, unchanged, so that an unfinished update that has
// read it before fails: the caller is about to overwrite the manifest of that
// update. It returns the task's new version, or errStale if the task has changed
// since the caller read it, or has not just been read. Without a manifest there is no
// such update.
func (s *Store) fence(m *machine, task *stored) (uint64, error) {
	if m.manifest(task.id) == nil {
		return task.version, nil
	}
	node := child(child(m.directory, "tasks"), task.id)
	if node == nil {
		return 0, errStale
	}
	copy := *task.task()
	own := &change{key: task.key, object: &copy, created: task.created}
	err := s.write(own, func() (*etcd.Response, error) {
		return s.client.CompareAndSwap(own.key, node.Value, 0, "", task.version)
	})
	if hasCode(err, compareFailed, notFound) {
		return 0, errStale
	}
	if err != nil {
		return 0, failed("update task", err)
	}
	return own.index, nil
}

// swapObject replaces an object that has a version.
func (s *Store) swapObject(update storage.Change, own *change, value string, version uint64) (*storage.Object, error) {
	err := s.write(own, func() (*etcd.Response, error) { return s.client.CompareAndSwap(own.key, value, 0, "", version) })
	switch {
	case hasCode(err, compareFailed):
		return nil, api.NewConflict("%s %s has changed", update.Kind, api.Quote(update.ID))
	case hasCode(err, notFound):
		return nil, api.NewNotFound(update.Kind, update.ID)
	case err != nil:
		return nil, failed("update "+string(update.Kind), err)
	}
	return own.written, nil
}

// location is where a task is, or where the index says it is.
type location struct {
	machine string
	version uint64 // of the index key; 0 when there is none
	seen    uint64 // etcd's index when the index key was looked up
}

// find finds a task's machine: in the index, or in the cache if another program
// wrote the task without an index key. The cache is then not older than the index key
// that was read.
func (s *Store) find(operation, taskID string) (location, error) {
	found, err := s.readIndexKey(operation, taskID)
	if err == nil {
		err = s.reach(operation, found.seen)
	}
	if err != nil || found.version != 0 {
		return found, err
	}
	copies := s.copies(api.TaskKind, taskID)
	if len(copies) == 0 {
		return found, api.NewNotFound(api.TaskKind, taskID)
	}
	if copies[0].created > found.seen { // its index key is older than a task, and not yet looked for
		if found, err = s.readIndexKey(operation, taskID); err != nil || found.version != 0 {
			return found, err
		}
	}
	found.machine = copies[0].machine
	return found, nil
}

// readIndexKey reads a task's index key. One whose value cannot be a machine counts
// as none.
func (s *Store) readIndexKey(operation, taskID string) (location, error) {
	node, seen, err := s.get(indexKeyOf(taskID), false)
	found := location{seen: seen}
	if err == nil && node != nil && isName(node.Value) {
		found.machine, found.version = node.Value, node.ModifiedIndex
	}
	return found, failed(operation, err)
}

// deleteTask deletes the task, its manifest, its index key. Without its own key the
// task is gone; if the rest fails, Reconcile repairs it. Each of the three writes
// names the version that was read, so that a delayed call deletes nothing of a newer
// task.
func (s *Store) deleteTask(remove storage.Change, budget budget) error {
	found, err := s.find(budget.operation, remove.ID)
	if err != nil {
		return err
	}
	known := s.machineOf(found.machine)
	for {
		if err := budget.left(); err != nil {
			return err
		}
		if known == nil {
			if known, err = s.lists.readMachine(found.machine); err != nil {
				return err
			}
		}
		task := known.task(remove.ID)
		switch {
		case task == nil:
			return api.NewNotFound(api.TaskKind, remove.ID)
		case task.dir:
			return task.err
		case task.created > found.seen: // newer than the index key, which is an earlier task's
			if found, err = s.find(budget.operation, remove.ID); err != nil {
				return err
			}
			known = s.machineOf(found.machine)
			continue
		case known.broken != nil:
			return known.broken.err
		case remove.Expected < storage.Any && remove.Expected != task.version:
			return api.NewConflict("task %s has changed", api.Quote(remove.ID))
		}
		if err := budget.left(); err != nil {
			return err
		}
		err := s.write(&change{key: task.key}, func() (*etcd.Response, error) {
			return s.client.CompareAndDelete(task.key, "", task.version)
		})
		if err == nil {
			return s.deleteRest(remove.ID, found, known.withTask(remove.ID, nil, 0), budget)
		}
		if hasCode(err, notFound) {
			return api.NewNotFound(api.TaskKind, remove.ID)
		}
		if !hasCode(err, compareFailed) {
			return failed(budget.operation, err)
		}
		known = nil // it was updated, or made again
	}
}

// deleteRest deletes the manifest and the index key of a task that has been deleted.
func (s *Store) deleteRest(taskID string, found location, known *machine, budget budget) error {
	if err := budget.left(); err != nil {
		return err
	}
	if err := s.removeFromList(found.machine, taskID, found.version, known); err != nil {
		return err
	}
	if found.version == 0 { // Reconcile may have added it meanwhile
		now, err := s.readIndexKey(budget.operation, taskID)
		if err != nil || now.version == 0 || now.machine != found.machine {
			return err
		}
		found.version = now.version
	}
	return s.deleteIndexKey(budget.operation, taskID, found.version)
}

// writeObject writes an object that is one key.
func (s *Store) writeObject(c storage.Change, budget budget) (*storage.Object, error) {
	value, err := encode(c.Object)
	if err == nil {
		err = budget.left()
	}
	if err != nil {
		return nil, err
	}
	own := &change{key: place{kind: c.Kind, id: c.ID}.key(), object: c.Object}
	switch c.Expected {
	case storage.Absent:
		err = s.write(own, func() (*etcd.Response, error) { return s.client.Create(own.key, value, 0) })
		if hasCode(err, alreadyExists) {
			return nil, api.NewAlreadyExists(c.Kind, c.ID)
		}
	case storage.Any: // the proxy reacts to this action only
		err = s.write(own, func() (*etcd.Response, error) { return s.client.Set(own.key, value, 0) })
	default:
		own.created = c.Object.Meta().CreationVersion
		if now, err := s.objects.Get(c.Kind, c.ID); err == nil && now.Version() == c.Expected {
			own.created = now.Meta().CreationVersion
		}
		return s.swapObject(c, own, value, c.Expected)
	}
	if err != nil {
		return nil, failed(budget.operation, err)
	}
	return own.written, nil
}

// deleteObject deletes an object that is one key. Another program may have put
// something else into its place: that stays, if any version will do.
func (s *Store) deleteObject(c storage.Change, budget budget) error {
	own := &change{key: place{kind: c.Kind, id: c.ID}.key()}
	err := s.write(own, func() (*etcd.Response, error) {
		if c.Expected == storage.Present || c.Expected == storage.Any {
			return s.client.Delete(own.key, false)
		}
		return s.client.CompareAndDelete(own.key, "", c.Expected)
	})
	switch {
	case c.Expected == storage.Any:
		err = ignore(err, notFound, notAFile, notADirectory)
	case hasCode(err, notFound):
		return api.NewNotFound(c.Kind, c.ID)
	case hasCode(err, compareFailed):
		return api.NewConflict("%s %s has changed", c.Kind, api.Quote(c.ID))
	}
	return failed(budget.operation, err)
}
