package etcd2

import (
	"bytes"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/manifestlist"
	"kube2014/pkg/storage/etcd2/mirror"
	"kube2014/pkg/storage/values"
)

// updateTask writes the list, then the task. Between the two the manifest is newer
// than the task; if it stays so, Reconcile restores it. A pod without a machine has no
// manifest; an update that assigns one writes it like any other.
func (s *Store) updateTask(update storage.Change) (*storage.Object, error) {
	task, budget := update.Object.(*api.Task), s.clock.budget(update)
	if err := checkMachine(task); err != nil {
		return nil, err
	}
	now, err := s.expected(update)
	if err != nil {
		return nil, err
	}
	if now.Err != nil { // its host ports are unknown
		return nil, now.Err
	}
	if err := budget.check(); err != nil {
		return nil, err
	}
	value, err := values.Encode(task)
	if err != nil {
		return nil, err
	}
	version, binds := now.Version, now.Host() != task.CurrentState.Host
	if binds {
		if err := s.claims.Take(task); err != nil {
			return nil, err
		}
		defer s.claims.Release(task)
	}
	if task.CurrentState.Host != "" {
		if now, version, err = s.updateList(update); err != nil {
			return nil, err
		}
	}
	if err := budget.check(); err != nil {
		return nil, err
	}
	own := &mirror.Change{Key: now.Key, Object: task, Created: now.Created}
	err = s.mirror.Put(own, value, version)
	if binds && mirror.HasCode(err, mirror.CompareFailed, mirror.NotFound) && budget.check() == nil {
		s.takeBack(task, now.Created)
	}
	return own.Written, failed(update, err)
}

// updateList writes the manifest of a new version of a task. It returns the stored task,
// and its version, which is newer if updateList has fenced it. When a pod is assigned its
// machine, updateList writes the manifest even if the list has the same one, orphaned, so
// that a concurrent removal of the orphan fails.
func (s *Store) updateList(update storage.Change) (now *mirror.Stored, version uint64, err error) {
	task := update.Object.(*api.Task)
	next, err := s.makeManifest(task)
	if err != nil {
		return nil, 0, err
	}
	name, own := task.CurrentState.Host, mirror.PlaceFor(task)
	err = s.lists.change(name, task.ID, s.mirror.Machine(name), func(m *mirror.Machine) ([]manifestlist.Manifest, error) {
		binds := false
		if now = m.At(own); now == nil && own.IsPod() {
			now, binds = s.mirror.At(own), true
		}
		if now != nil && now.Err != nil {
			return nil, now.Err
		}
		if err := storage.CheckExpected(update, now.ObjectIn()); err != nil {
			return nil, err
		}
		if err := m.CheckPorts(task); err != nil {
			return nil, err
		}
		if !m.Consistent(now) {
			var err error
			version, err = s.fence(m, now)
			return m.With(next), err
		}
		version = now.Version
		if !binds && bytes.Equal(m.Manifest(task.ID).Raw, next.Raw) {
			return nil, nil
		}
		return m.With(next), nil
	})
	return now, version, err
}

// takeBack removes from a list the manifest of a pod that was not assigned the
// machine. created is the version of its creation. Reconcile repairs what is left.
func (s *Store) takeBack(task *api.Task, created uint64) {
	found, err := s.readIndexKey("update task", task.ID)
	if err == nil {
		err = s.mirror.Reach("update task", found.seen)
	}
	pod := s.mirror.At(mirror.PlaceFor(task))
	switch {
	case err != nil:
	case pod == nil && found.version > created: // deleted, and possibly being created again
	case pod != nil && pod.Host() == "": // another request may be assigning it to this machine
	default:
		_ = s.removeFromList(task.CurrentState.Host, task.ID, found.version, nil)
	}
}

// fence rewrites a task, unchanged, so that an unfinished update that has read it
// before fails: the caller is about to overwrite the manifest of that update. It
// returns the task's new version, or errStale if the task has changed since the
// caller read it, or, unless it is a pod, m comes from the mirror. Without a manifest
// there is no such update.
func (s *Store) fence(m *mirror.Machine, task *mirror.Stored) (uint64, error) {
	if m.Manifest(task.ID) == nil {
		return task.Version, nil
	}
	node := mirror.Child(mirror.Child(m.Directory, "tasks"), task.ID)
	if task.IsPod() {
		var seen uint64
		var err error
		if node, seen, err = s.mirror.Read(task.Key, false); err != nil {
			return 0, mirror.Failed("update task", err)
		}
		if err := s.mirror.Reach("update task", seen); err != nil {
			return 0, err
		}
	}
	if node == nil || node.ModifiedIndex != task.Version {
		return 0, errStale
	}
	same := *task.Task()
	own := &mirror.Change{Key: task.Key, Object: &same, Created: task.Created}
	err := s.mirror.Put(own, node.Value, task.Version)
	if mirror.HasCode(err, mirror.CompareFailed, mirror.NotFound) {
		return 0, errStale
	}
	return own.Version, mirror.Failed("update task", err)
}

// makeManifest makes the manifest of a task, with the services in the mirror.
func (s *Store) makeManifest(task *api.Task) (manifestlist.Manifest, error) {
	stored, _ := s.mirror.Objects.List(storage.Selection{Kind: api.ServiceKind, Namespace: api.NamespaceDefault}) // the memory never fails
	services := make([]api.Service, 0, len(stored.Items))
	for _, object := range stored.Items {
		if !api.IsServers(object) {
			services = append(services, *object.Object.(*api.Service))
		}
	}
	manifest, err := s.manifests(task.CurrentState.Host, *task, services)
	if err != nil {
		return manifestlist.Manifest{}, err
	}
	return manifestlist.New(manifest)
}
