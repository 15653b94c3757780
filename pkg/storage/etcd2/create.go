package etcd2

import (
	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/manifestlist"
	"kube2014/pkg/storage/etcd2/mirror"
	"kube2014/pkg/storage/values"
)

// createTask writes the index key, which makes the id unique in the cluster; then the
// list of the task's machine, if any, which decides about host ports; then the task's own
// key. A task exists if and only if its own key does; without that, the manifest and the
// index key are orphaned.
func (s *Store) createTask(create storage.Change) (*storage.Object, error) {
	task, budget := create.Object.(*api.Task), s.clock.budget(create)
	if err := checkMachine(task); err != nil {
		return nil, err
	}
	if !s.mirror.IsLoaded() {
		if err := s.mirror.Fresh("create task"); err != nil {
			return nil, err
		}
	}
	if err := s.checkUnclaimed(task.ID); err != nil {
		return nil, err
	}
	if err := s.claims.Take(task); err != nil {
		return nil, err
	}
	defer s.claims.Release(task)
	claimed, budget, err := s.claim(task, budget)
	if err != nil {
		return nil, err
	}
	created, err := s.createClaimed(create, claimed, budget)
	switch api.KindOf(err) {
	case "", api.Unavailable, api.AlreadyExists:
		// After an error, either the outcome of a write is unknown, and Reconcile
		// repairs it; or another program has written the task on this machine, so
		// the index key is correct.
	default:
		s.releaseClaim(task.ID, claimed)
	}
	return created, err
}

// checkMachine returns an error if the name of a task's machine is invalid. A pod may
// have no machine.
func checkMachine(task *api.Task) error {
	if machine := task.CurrentState.Host; mirror.IsName(machine) || (task.IsPod && machine == "") {
		return nil
	}
	return &api.Error{Kind: api.Internal, Message: "task " + api.Quote(task.ID) + " has no machine"}
}

// createClaimed writes the manifest and the task, or neither.
func (s *Store) createClaimed(create storage.Change, claimed uint64, budget budget) (*storage.Object, error) {
	task := create.Object.(*api.Task)
	value, err := values.Encode(task)
	if err != nil {
		return nil, err
	}
	if err := budget.check(); err != nil {
		return nil, err
	}
	// The mirror must not be older than the claim: another program may have written a
	// task with this id.
	if err := s.mirror.Reach("create task", claimed); err != nil {
		return nil, err
	}
	if err := s.checkUnclaimed(task.ID); err != nil {
		if api.KindOf(err) == api.AlreadyExists {
			s.releaseClaim(task.ID, claimed) // it may be on another machine
		}
		return nil, err
	}
	if task.CurrentState.Host != "" {
		if err := s.addToList(task, budget); err != nil {
			return nil, err
		}
	}
	if err := budget.check(); err != nil {
		return nil, err
	}
	own := &mirror.Change{Key: mirror.PlaceFor(task).Key(), Object: task}
	err = failed(create, s.mirror.Put(own, value, storage.Absent))
	if api.KindOf(err) == api.Internal && task.CurrentState.Host != "" {
		if undoErr := s.removeFromList(task.CurrentState.Host, task.ID, claimed, nil); undoErr != nil {
			return nil, undoErr
		}
	}
	return own.Written, err
}

// addToList adds the manifest of a new task to its machine's list, if its host ports
// are free there. It writes the list even if this has the same manifest, orphaned,
// so that a concurrent removal of the orphan fails.
func (s *Store) addToList(task *api.Task, budget budget) error {
	added, err := s.makeManifest(task)
	if err != nil {
		return err
	}
	name := task.CurrentState.Host
	return s.lists.change(name, task.ID, s.mirror.Machine(name), func(m *mirror.Machine) ([]manifestlist.Manifest, error) {
		if err := budget.check(); err != nil {
			return nil, err
		}
		if m.Task(task.ID) != nil {
			return nil, api.NewAlreadyExists(api.TaskKind, task.ID)
		}
		if err := m.CheckPorts(task); err != nil {
			return nil, err
		}
		return m.With(added), nil
	})
}
