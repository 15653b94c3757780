package etcd2

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/mirror"
)

// Commit implements storage.Interface. The changes are made in their order. What a check after them requires must
// hold before and after them; otherwise the new objects are deleted again.
func (s *Store) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	for i, change := range changes {
		if i > 0 || change.Action == storage.Check {
			if _, err := s.expected(change); err != nil {
				return nil, err
			}
		}
	}
	written := make([]*storage.Object, len(changes))
	for i, change := range changes {
		var err error
		if change.Action == storage.Check && i > 0 {
			_, err = s.freshAsExpected(change) // the changes before it are made
		} else {
			written[i], err = s.commit(change)
		}
		if err != nil {
			if change.Action == storage.Check {
				s.undo(changes[:i], written)
			}
			return nil, err
		}
	}
	return written, nil
}

// undo deletes new objects. If that fails, they stay.
func (s *Store) undo(changes []storage.Change, written []*storage.Object) {
	for i, change := range changes {
		if change.Action == storage.Write && change.Expected == storage.Absent {
			_ = s.remove(storage.Delete(change.Key, written[i].Version()))
		}
	}
}

// commit makes one change.
func (s *Store) commit(change storage.Change) (*storage.Object, error) {
	isTask := mirror.IsTask(change.Key)
	switch {
	case change.Action == storage.Write && !isTask && len(change.Object.AppendClaims(nil)) > 0:
		return nil, api.NewInvalid("namespace", "%s cannot have host ports in the namespace %s: the v2 API of etcd has no transactions, which they need there",
			change.Key.InWords(), api.Quote(change.Key.Namespace))
	case change.Action == storage.Check:
		return nil, nil
	case change.Action == storage.Remove:
		return nil, s.remove(change)
	case change.Expected == storage.Present, change.Expected == storage.Any, change.Expected == storage.Blind && isTask:
		return s.overwrite(change)
	case !isTask:
		return s.writeObject(change)
	case change.Expected == storage.Absent:
		return s.createTask(change)
	}
	return s.updateTask(change)
}

// overwrite replaces an object of any version, or creates it unless the change
// expects that it is present.
func (s *Store) overwrite(change storage.Change) (*storage.Object, error) {
	return storage.GuaranteedUpdate(storage.WithTTL(s, change.TTL), change.Key, func(stored *storage.Object) (api.Object, error) {
		if stored == nil && change.Expected == storage.Present {
			return nil, api.NewNotFound(change.Key.Kind, change.Key.ID)
		}
		return change.Object, nil
	})
}

// remove deletes an object, or checks that it is absent.
func (s *Store) remove(change storage.Change) (err error) {
	switch {
	case change.Expected == storage.Absent:
		if err = s.mirror.Fresh("delete " + string(change.Key.Kind)); err == nil {
			_, err = s.expected(change)
		}
	case mirror.IsTask(change.Key):
		err = s.deleteTask(change)
	default:
		err = s.deleteObject(change)
	}
	if change.Unconditional() && api.KindOf(err) == api.NotFound {
		return nil
	}
	return err
}
