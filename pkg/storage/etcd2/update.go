package etcd2

import (
	"bytes"
	"encoding/json"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/cache"
)

// updateTask writes the list, then the task. Between the two the manifest is newer
// than the task; if it stays so, Reconcile restores it.
func (s *Store) updateTask(update storage.Change) (*storage.Object, error) {
	task, budget := update.Object.(*api.Task), s.clock.budget(update)
	now, err := s.expected(update)
	if err != nil {
		return nil, err
	}
	if now.Err != nil { // nobody knows which host ports it has
		return nil, now.Err
	}
	if err := budget.left(); err != nil {
		return nil, err
	}
	value, err := cache.Encode(task)
	if err != nil {
		return nil, err
	}
	manifest, err := s.makeManifest(task)
	if err != nil {
		return nil, err
	}
	now, version, err := s.updateList(update, manifest)
	if err != nil {
		return nil, err
	}
	if err := budget.left(); err != nil {
		return nil, err
	}
	own := &cache.Change{Key: now.Key, Object: task, Created: now.Created}
	err = s.cache.Put(own, value, version)
	return own.Written, failed("update task", update, err)
}

// updateList writes the manifest of a new version of a task. It returns the stored task,
// and its version, which is newer if updateList has fenced it.
func (s *Store) updateList(update storage.Change, next cache.Manifest) (now *cache.Stored, version uint64, err error) {
	task := update.Object.(*api.Task)
	name := task.CurrentState.Host
	err = s.lists.change(name, task.ID, s.cache.Machine(name), func(m *cache.Machine) ([]cache.Manifest, error) {
		now = m.Task(task.ID)
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
		if bytes.Equal(m.Manifest(task.ID).Raw, next.Raw) {
			return nil, nil
		}
		return m.With(next), nil
	})
	return now, version, err
}

// fence writes a task again, unchanged, so that an unfinished update that has
// read it before fails: the caller is about to overwrite the manifest of that
// update. It returns the task's new version, or errStale if the task has changed
// since the caller read it, or has not just been read. Without a manifest there is no
// such update.
func (s *Store) fence(m *cache.Machine, task *cache.Stored) (uint64, error) {
	if m.Manifest(task.ID) == nil {
		return task.Version, nil
	}
	node := cache.Child(cache.Child(m.Directory, "tasks"), task.ID)
	if node == nil {
		return 0, errStale
	}
	same := *task.Task()
	own := &cache.Change{Key: task.Key, Object: &same, Created: task.Created}
	err := s.cache.Put(own, node.Value, task.Version)
	if cache.HasCode(err, cache.CompareFailed, cache.NotFound) {
		return 0, errStale
	}
	return own.Version, cache.Failed("update task", err)
}

// makeManifest makes the manifest of a task, with the services that the cache has.
func (s *Store) makeManifest(task *api.Task) (cache.Manifest, error) {
	stored, _ := s.cache.Objects.List(api.ServiceKind, nil) // a cache answers always
	services := make([]api.Service, len(stored.Items))
	for i, object := range stored.Items {
		services[i] = *object.Object.(*api.Service)
	}
	made, err := s.manifests(task.CurrentState.Host, *task, services)
	if err != nil {
		return cache.Manifest{}, err
	}
	value, err := cache.Encode(made)
	if err != nil {
		return cache.Manifest{}, err
	}
	return cache.MakeManifest(json.RawMessage(value))
}
