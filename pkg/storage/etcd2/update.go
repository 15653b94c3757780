package etcd2

import (
	"encoding/json"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/cache"
)

// updateTask writes the list, then the task. Between the two the manifest is newer
// than the task; if it stays so, Reconcile restores it.
func (s *Store) updateTask(update storage.Change, budget budget) (*storage.Object, error) {
	task := update.Object.(*api.Task)
	now, err := s.expected(update)
	if err != nil {
		return nil, err
	}
	if now.Machine != task.CurrentState.Host { // a crash between deletion and creation would lose it
		return nil, &api.Error{Kind: api.Internal, Message: "task " + api.Quote(task.ID) + " is on machine " + now.Machine + " and cannot be moved"}
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
	version, created, err := s.updateList(update, manifest)
	if err == nil {
		err = budget.left()
	}
	if err != nil {
		return nil, err
	}
	own := &cache.Change{Key: cache.TaskKey(task.CurrentState.Host, task.ID), Object: task, Created: created}
	return s.swapObject(update, own, value, version)
}

// updateList writes the manifest of a new version of a task, and returns the version
// of the stored one, and that of its creation.
func (s *Store) updateList(update storage.Change, next cache.Manifest) (version, created uint64, err error) {
	task := update.Object.(*api.Task)
	name := task.CurrentState.Host
	err = s.lists.change(name, task.ID, s.cache.Machine(name), func(m *cache.Machine) ([]cache.Manifest, error) {
		now := m.Task(task.ID)
		if now != nil && now.Err != nil {
			return nil, now.Err
		}
		if err := storage.CheckExpected(update, now.ObjectIn()); err != nil {
			return nil, err
		}
		if err := m.CheckPorts(task); err != nil {
			return nil, err
		}
		created = now.Created
		if m.Consistent(now) {
			version = now.Version
			return m.With(next), nil
		}
		var err error
		version, err = s.fence(m, now)
		return m.Replacing(next), err
	})
	return version, created, err
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
	copy := *task.Task()
	own := &cache.Change{Key: task.Key, Object: &copy, Created: task.Created}
	err := s.cache.Write(own, func() (*etcd.Response, error) {
		return s.cache.Client.CompareAndSwap(own.Key, node.Value, 0, "", task.Version)
	})
	if cache.HasCode(err, cache.CompareFailed, cache.NotFound) {
		return 0, errStale
	}
	if err != nil {
		return 0, cache.Failed("update task", err)
	}
	return own.Index, nil
}

// makeManifest makes the manifest of a task, with the services that the cache has.
func (s *Store) makeManifest(task *api.Task) (cache.Manifest, error) {
	stored, err := s.cache.Objects.List(api.ServiceKind, nil)
	if err != nil {
		return cache.Manifest{}, err
	}
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
