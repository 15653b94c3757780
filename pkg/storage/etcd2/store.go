// Package etcd2 is the store over etcd's v2 API, under the keys of June 2014. Any
// number of apiservers may share one etcd. docs/etcd.md has the order of the writes,
// and why a crash between any two is harmless.
package etcd2

import (
	"context"
	"errors"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/cache"
)

// Client is what the store uses of etcd's v2 keys API.
type Client = cache.Client

// ManifestFunc makes the manifest of a task for its machine's kubelet. It changes
// neither the task nor the services.
type ManifestFunc func(machine string, task api.Task, services []api.Service) (api.ContainerManifest, error)

// Store keeps objects in etcd. It is safe for concurrent use. It is not atomic: a
// task is three writes, and a service and its endpoints are two. Reconcile repairs
// what a crash between them leaves.
type Store struct {
	cache     *cache.Cache
	lists     lists
	ports     portsInFlight
	warnings  warnings
	sightings sightings
	manifests ManifestFunc
	clock     *clock
}

var (
	_ storage.Interface = (*Store)(nil)
	_ storage.Clock     = (*Store)(nil)
)

// New returns a store. It does not call etcd yet.
func New(client Client, manifests ManifestFunc) *Store {
	clock, cache := &clock{now: time.Now, sleep: time.Sleep, after: time.After}, cache.New(client)
	return &Store{
		cache:     cache,
		lists:     lists{cache: cache, clock: clock, writers: map[string]*listWriter{}, full: map[string]uint64{}},
		ports:     portsInFlight{owner: map[hostPort]*api.Task{}},
		warnings:  warnings{clock: clock, warned: map[string]uint64{}},
		manifests: manifests,
		clock:     clock,
	}
}

// SetClock lets the store take the time from another clock than the system's: tests
// do not depend on how fast a machine is. It is to be called before the first request.
func (s *Store) SetClock(now func() time.Time, after func(time.Duration) <-chan time.Time) {
	s.clock.now, s.clock.after, s.cache.After = now, after, after
}

// Now implements storage.Clock.
func (s *Store) Now() time.Time { return s.clock.now() }

// Get implements storage.Reader. If another program has put a task on several
// machines, it is that of the machine which the index key names.
func (s *Store) Get(kind api.Kind, id string) (*storage.Object, error) {
	operation := "get " + string(kind)
	if err := s.cache.Fresh(operation); err != nil {
		return nil, err
	}
	copies := s.cache.Copies(kind, id)
	if len(copies) > 1 {
		found, err := s.readIndexKey(operation, id)
		if err != nil {
			return nil, err
		}
		if found.version != 0 {
			copies = on(found.machine, copies)
		}
	}
	if len(copies) == 0 {
		return nil, api.NewNotFound(kind, id)
	}
	return copies[0].Object, copies[0].Err
}

func on(machine string, copies []*cache.Stored) []*cache.Stored {
	for _, copy := range copies {
		if copy.Machine == machine {
			return []*cache.Stored{copy}
		}
	}
	return nil
}

// List implements storage.Reader. What cannot be decoded is logged and left out.
func (s *Store) List(kind api.Kind, labels map[string]string) (*storage.List, error) {
	operation := "list " + string(kind)
	if kind != api.EndpointsKind {
		operation += "s"
	}
	if err := s.cache.Fresh(operation); err != nil {
		return nil, err
	}
	s.warnings.of(s.cache.Unreadable())
	return s.cache.Objects.List(kind, labels)
}

// FirstFree implements storage.Reader. It passes over machines of which something
// cannot be decoded, because nobody knows which of their host ports are taken (D41).
// If no other is free, the error is an api.Internal one that says so.
func (s *Store) FirstFree(machines []string, task api.Task) (string, error) {
	if err := s.cache.Fresh("place task"); err != nil {
		return "", err
	}
	unreadable := s.cache.Unreadable()
	s.warnings.of(unreadable)
	reasons := map[string]error{}
	for _, bad := range unreadable {
		if reasons[bad.Machine] == nil {
			reasons[bad.Machine] = bad.Err
		}
	}
	ports := task.HostPorts()
	var passedOver error
	for _, name := range machines {
		if why := reasons[name]; why != nil {
			if passedOver == nil {
				passedOver = &api.Error{Kind: api.Internal, Err: errors.Unwrap(why),
					Message: "no machine takes task " + api.Quote(task.ID) + ": machine " + name + " is passed over, " + why.Error()}
			}
			continue
		}
		if machine := s.cache.Machine(name); machine.Fits(task.ID, ports) && !s.lists.isFull(machine) && !s.ports.isTaken(name, ports, task.ID) {
			return name, nil
		}
	}
	return "", passedOver
}

// Version implements storage.Reader.
func (s *Store) Version() (uint64, error) {
	if err := s.cache.Fresh("get the version"); err != nil {
		return 0, err
	}
	return s.cache.Objects.Version()
}

// Watch implements storage.Reader. See Follow for the changes of other programs.
func (s *Store) Watch(kind api.Kind, after uint64) (*storage.Watcher, error) {
	s.cache.Watch()
	if err := s.cache.Fresh("watch"); err != nil {
		return nil, err
	}
	s.cache.Extend(after)
	return s.cache.Objects.Watch(kind, after)
}

// Follow lets those who watch see the changes of other programs, until the context
// ends. Own changes they see without it.
func (s *Store) Follow(ctx context.Context) { s.cache.Follow(ctx) }

// Cached implements storage.Interface.
func (s *Store) Cached() storage.Reader { return s.cache.Objects }

// Commit implements storage.Interface. The changes are made in their order.
func (s *Store) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	for i, change := range changes {
		if i > 0 || change.Action == storage.Check {
			if err := s.check(change); err != nil {
				return nil, err
			}
		}
	}
	written := make([]*storage.Object, len(changes))
	for i, change := range changes {
		var err error
		if written[i], err = s.commit(change); err != nil {
			return nil, err
		}
	}
	return written, nil
}

// check returns an error if an object is not what a change expects. It asks etcd only
// if the object does not seem to be.
func (s *Store) check(change storage.Change) error {
	_, err := s.expected(change)
	return err
}

// expected returns the object that a change expects, nil if there should be none, and
// an error as check does. What cannot be decoded is there too.
func (s *Store) expected(change storage.Change) (now *cache.Stored, err error) {
	for _, fresh := range []bool{false, true} {
		if fresh {
			if err := s.cache.Fresh("check " + string(change.Kind)); err != nil {
				return nil, err
			}
		}
		now = nil
		if copies := s.cache.Copies(change.Kind, change.ID); len(copies) > 0 {
			now = copies[0]
			for _, copy := range copies {
				if copy.Version == change.Expected { // another program may have made two
					now = copy
				}
			}
		}
		if now != nil && now.Err != nil && !now.Dir && (change.Expected == storage.Present || change.Expected == now.Version) {
			return now, nil
		}
		if err = storage.CheckExpected(change, now.ObjectIn()); err == nil {
			return now, nil
		}
	}
	return nil, err
}

// budget begins the time of a request, or goes on with that of one which has begun.
func (s *Store) budget(operation string, began time.Time) budget {
	if began.IsZero() {
		began = s.clock.now()
	}
	return budget{operation: operation, began: began, clock: s.clock}
}

// commit makes one change.
func (s *Store) commit(change storage.Change) (*storage.Object, error) {
	switch {
	case change.Action == storage.Check:
		return nil, nil
	case change.Action == storage.Remove:
		return nil, s.remove(change, s.budget("delete "+string(change.Kind), change.Began))
	case change.Expected == storage.Present, change.Expected == storage.Any, change.Expected == storage.Blind && change.Kind == api.TaskKind:
		return s.overwrite(change)
	case change.Kind != api.TaskKind:
		return s.writeObject(change, s.budget(operationOf(change), change.Began))
	case change.Expected == storage.Absent:
		return s.createTask(change.Object.(*api.Task), s.budget("create task", change.Began).began)
	}
	return s.updateTask(change, s.budget("update task", change.Began))
}

func operationOf(change storage.Change) string {
	if change.Expected == storage.Absent {
		return "create " + string(change.Kind)
	}
	return "update " + string(change.Kind)
}

// overwrite replaces an object whatever its version is, or creates it if there need
// be none.
func (s *Store) overwrite(change storage.Change) (*storage.Object, error) {
	return storage.GuaranteedUpdate(s, change.Kind, change.ID, func(stored *storage.Object) (api.Object, error) {
		if stored == nil && change.Expected == storage.Present {
			return nil, api.NewNotFound(change.Kind, change.ID)
		}
		return change.Object, nil
	})
}

func (s *Store) remove(change storage.Change, budget budget) error {
	if change.Expected == storage.Absent {
		if err := s.cache.Fresh(budget.operation); err != nil {
			return err
		}
		return s.check(change)
	}
	if change.Kind != api.TaskKind {
		return s.deleteObject(change, budget)
	}
	err := s.deleteTask(change, budget)
	if (change.Expected == storage.Any || change.Expected == storage.Blind) && api.KindOf(err) == api.NotFound {
		return nil
	}
	return err
}
