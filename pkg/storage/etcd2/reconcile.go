package etcd2

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage/etcd2/cache"
)

// finding names an inconsistency in etcd.
type finding struct{ what, machine, id string }

// inconsistency is a finding, the version of the key that shows it, and its repair,
// which checks again before it writes.
type inconsistency struct {
	finding
	version uint64
	repair  func(*Store) error
}

// sightings remembers the inconsistencies that may be requests at work.
type sightings struct {
	mu    sync.Mutex // guards first
	first map[finding]sighting
}

// sighting is when a finding was first seen. With another version it is a new one:
// something has changed.
type sighting struct {
	version uint64
	since   time.Time
}

// Reconcile repairs the lists of manifests, the index keys and the endpoints after
// crashes and after writes of other programs, so that they agree with the tasks and
// services, which it never changes. An inconsistency is repaired by the first call
// that finds it unchanged after the grace. Call it periodically. The error joins all
// failures.
func (s *Store) Reconcile() error {
	index, _, err := s.cache.Read(cache.IndexKey, true) // before the tasks: a new task has an older index key
	if err != nil {
		return cache.Failed("reconcile", err)
	}
	if bad := cache.Misplaced(index); bad != nil {
		s.warnings.of([]*cache.Stored{bad})
		return nil // nobody knows whose a task's id is
	}
	if err := s.cache.Fresh("reconcile"); err != nil {
		return err
	}
	var failures []error
	for _, found := range s.sightings.due(s.compare(index), s.clock.now()) {
		if err := found.repair(s); err != nil {
			failures = append(failures, fmt.Errorf("reconcile: %s %s: %w", found.what, cache.KeyInWords(found.id), err))
			continue
		}
		log.Printf("reconcile: repaired %s: %s", found.what, cache.KeyInWords(strings.TrimSpace(found.machine+" "+found.id)))
	}
	return errors.Join(failures...)
}

// due returns the inconsistencies that have stayed unchanged for the grace, and
// remembers the others.
func (s *sightings) due(found []inconsistency, now time.Time) (due []inconsistency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[finding]sighting{}
	for _, one := range found {
		first, found := s.first[one.finding]
		if !found || first.version != one.version {
			first = sighting{version: one.version, since: now}
		}
		seen[one.finding] = first
		if now.Sub(first.since) >= grace {
			due = append(due, one)
		}
	}
	s.first = seen
	return due
}

// repairUnindexed writes the index key of a task that another program wrote.
func (s *Store) repairUnindexed(task *cache.Stored) error {
	now, _, err := s.cache.Read(task.Key, false)
	if err == nil && now != nil {
		own := &cache.Change{Key: cache.IndexKeyOf(task.ID)}
		err = s.cache.Write(own, func() (*etcd.Response, error) { return s.cache.Client.Create(own.Key, task.Machine, 0) })
	}
	return cache.Failed("index task", cache.Ignore(err, cache.AlreadyExists))
}

// repairManifest writes the manifest of a task that has none, or that of another
// version.
func (s *Store) repairManifest(task *cache.Stored) error {
	manifestOfTask, err := s.makeManifest(task.Task())
	if err != nil {
		return err
	}
	version := task.Version
	return s.lists.change(task.Machine, task.ID, nil, func(m *cache.Machine) ([]cache.Manifest, error) {
		now := m.Task(task.ID)
		if now == nil || now.Version != version {
			return nil, nil
		}
		if err := m.CheckPorts(task.Task()); err != nil {
			return nil, err
		}
		var err error
		version, err = s.fence(m, now)
		return m.Replacing(manifestOfTask), err
	})
}

// orphanedManifest is a manifest without a task. The version is that of the index key
// of its id, 0 when there is none.
func orphanedManifest(machine, id string, version uint64) inconsistency {
	return inconsistency{finding{"orphaned manifest", machine, id}, version, func(s *Store) error {
		return s.removeFromList(machine, id, version, nil)
	}}
}

func missingManifest(task *cache.Stored) inconsistency {
	return inconsistency{finding{"missing or stale manifest", task.Machine, task.ID}, task.Version,
		func(s *Store) error { return s.repairManifest(task) }}
}

func missingIndexKey(task *cache.Stored) inconsistency {
	return inconsistency{finding{"missing index key", task.Machine, task.ID}, task.Created,
		func(s *Store) error { return s.repairUnindexed(task) }}
}

func orphanedIndexKey(machine, id string, version uint64) inconsistency {
	return inconsistency{finding{"orphaned index key", machine, id}, version,
		func(s *Store) error { return s.deleteIndexKey("reconcile", id, version) }}
}

func orphanedEndpoints(endpoints *cache.Stored) inconsistency {
	return inconsistency{finding{"orphaned endpoints", "", endpoints.ID}, endpoints.Version,
		func(s *Store) error { return s.deleteUnchanged("reconcile", endpoints.Key, endpoints.Version) }}
}

// isNameOfTask reports whether a request can name a task.
func isNameOfTask(id string) bool { return api.ValidateID(id) == nil }
