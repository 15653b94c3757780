package etcd2

import (
	"errors"
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/manifestlist"
	"kube2014/pkg/storage/etcd2/mirror"
)

// Reconcile repairs the lists of manifests, the index keys and the endpoints after
// crashes and after writes of other programs, so that they agree with the tasks and
// services, which it never changes. An inconsistency is repaired by the first call
// that finds it unchanged after the grace. Call it periodically. The error joins all
// failures.
func (s *Store) Reconcile() error {
	indexKeys, _, err := s.mirror.Read(mirror.IndexKey, true) // before the tasks: a new task has an older index key
	if err != nil {
		return mirror.Failed("reconcile", err)
	}
	if bad := mirror.Misplaced(indexKeys); bad != nil {
		s.warnings.warn(bad.Key, bad.Version, api.InFull(bad.Err))
		return nil // the owners of task ids are unknown
	}
	if err := s.mirror.Fresh("reconcile"); err != nil {
		return err
	}
	var failures []error
	for _, found := range s.inconsistencies.due(s.compare(indexKeys), s.clock.now()) {
		if err := found.do(); err != nil {
			failures = append(failures, fmt.Errorf("reconcile: %s %s: %w", found.what, mirror.KeyInWords(found.id), err))
			continue
		}
		log.Printf("reconcile: repaired %s: %s", found.what, mirror.KeyInWords(strings.TrimSpace(found.machine+" "+found.id)))
	}
	return errors.Join(failures...)
}

// snapshot is the input of compare: the machines and their tasks, and the index keys, which
// were read before.
type snapshot struct {
	machines  map[string]*mirror.Machine
	tasks     map[mirror.Place]*mirror.Stored
	indexKeys *etcd.Node
}

// compare returns all inconsistencies between the mirror and the index keys, which
// were read before it: those of the lists, then of the index keys, then of the
// endpoints.
func (s *Store) compare(indexKeys *etcd.Node) (found []repair) {
	all := snapshot{s.mirror.Machines(), map[mirror.Place]*mirror.Stored{}, indexKeys}
	names := slices.Sorted(maps.Keys(all.machines))
	for _, machine := range all.machines {
		for _, task := range machine.Tasks {
			all.tasks[task.Place] = task
		}
	}
	for _, name := range names {
		found = append(found, s.compareList(all, all.machines[name])...)
	}
	keyOf := map[string]string{}
	for _, name := range names {
		for _, task := range all.machines[name].Tasks {
			if task.Dir || api.ValidateID(task.ID) != nil {
				s.warnings.warn(task.Key, task.Version, "no request can reach a task at this key; delete it")
				continue
			}
			if mirror.Child(indexKeys, task.ID) == nil {
				found = append(found, repair{inconsistency{"missing index key", name, task.ID, task.Created},
					func() error { return s.repairUnindexed(task) }})
			}
			if other, twice := keyOf[task.ID]; twice {
				s.warnings.warn(task.Key, task.Version, "the same task is also at key "+mirror.KeyInWords(other)+"; delete one of the two keys")
			}
			keyOf[task.ID] = task.Key
		}
	}
	for _, node := range mirror.NodesOf(indexKeys) {
		id := mirror.BaseName(node.Key)
		if node.Dir {
			s.warnings.warn(node.Key, node.ModifiedIndex, "this should be an index key but is a directory; delete it")
		} else if all.indexed(id) == nil {
			found = append(found, s.orphanedKey("orphaned index key", node.Value, id, mirror.IndexKeyOf(id), node.ModifiedIndex))
		}
	}
	return append(found, s.compareEndpoints()...)
}

// indexed returns the task in the place that the index key of an id names, nil for none.
func (all snapshot) indexed(id string) *mirror.Stored {
	if node := mirror.Child(all.indexKeys, id); node != nil {
		p, _, _ := mirror.Indexed(id, node.Value)
		return all.tasks[p]
	}
	return nil
}

// compareList finds manifests without a task, and tasks without a current
// manifest. If the index key names another copy of a task, this copy gets no
// manifest: it was written by another program, or by a create that was delayed
// until its claim had been repaired. A corrupt pod may be on any machine, so its
// manifest stays.
func (s *Store) compareList(all snapshot, m *mirror.Machine) (found []repair) {
	if m.Broken != nil || m.Name == "" {
		return nil // the log and /healthz name what is broken
	}
	ids := map[string]bool{}
	for _, manifest := range m.Manifests {
		ids[manifest.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if pod := all.tasks[mirror.PodPlace(id)]; m.Task(id) != nil || (pod != nil && pod.Err != nil) {
			continue
		}
		var version uint64 // of the index key, 0 when there is none
		if node := mirror.Child(all.indexKeys, id); node != nil {
			version = node.ModifiedIndex
		}
		found = append(found, repair{inconsistency{"orphaned manifest", m.Name, id, version},
			func() error { return s.removeFromList(m.Name, id, version, nil) }})
	}
	for _, task := range m.Tasks {
		if task.Err != nil || api.ValidateID(task.ID) != nil || m.Consistent(task) {
			continue // List logs corrupt tasks, compare invalid ids
		}
		if indexed := all.indexed(task.ID); indexed == nil || indexed == task {
			found = append(found, repair{inconsistency{"missing or stale manifest", m.Name, task.ID, task.Version},
				func() error { return s.repairManifest(task) }})
		}
	}
	return found
}

// compareEndpoints finds endpoints without a service, which may be a corrupt one. It
// looks up the services last, because the endpoints of a new service are newer.
func (s *Store) compareEndpoints() (found []repair) {
	endpoints := slices.DeleteFunc(s.mirror.Unreadable(), func(bad *mirror.Stored) bool { return bad.Kind != api.EndpointsKind || bad.Dir })
	all, _ := s.mirror.Objects.List(storage.Selection{Kind: api.EndpointsKind}) // the memory never fails
	for _, object := range all.Items {
		endpoints = append(endpoints, mirror.MakeStored(object))
	}
	for _, one := range endpoints {
		if len(s.mirror.Copies(api.Key{Kind: api.ServiceKind, Namespace: one.Namespace, ID: one.ID})) == 0 {
			found = append(found, s.orphanedKey("orphaned endpoints", "", one.ID, one.Key, one.Version))
		}
	}
	return found
}

// orphanedKey returns the repair of an inconsistency by deleting a key.
func (s *Store) orphanedKey(what, machine, id, key string, version uint64) repair {
	return repair{inconsistency{what, machine, id, version}, func() error { return s.deleteUnchanged("reconcile", key, version) }}
}

// repairUnindexed writes the index key of a task that another program wrote.
func (s *Store) repairUnindexed(task *mirror.Stored) error {
	now, _, err := s.mirror.Read(task.Key, false)
	if err == nil && now != nil {
		err = s.mirror.Put(&mirror.Change{Key: mirror.IndexKeyOf(task.ID)}, task.IndexValue(task.Host()), storage.Absent)
	}
	return mirror.Failed("index task", mirror.Ignore(err, mirror.AlreadyExists))
}

// repairManifest replaces the missing or stale manifest of a task.
func (s *Store) repairManifest(task *mirror.Stored) error {
	manifest, err := s.makeManifest(task.Task())
	if err != nil {
		return err
	}
	version := task.Version
	return s.lists.change(task.Host(), task.ID, nil, func(m *mirror.Machine) ([]manifestlist.Manifest, error) {
		now := m.At(task.Place)
		if now == nil || now.Version != version {
			return nil, nil
		}
		if err := m.CheckPorts(task.Task()); err != nil {
			return nil, err
		}
		var err error
		version, err = s.fence(m, now)
		return m.With(manifest), err
	})
}
