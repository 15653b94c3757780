// Package etcd2 is the store over etcd's v2 API, under the keys of June 2014. Any
// number of apiservers may share one etcd. docs/etcd.md has the order of the writes,
// and why a crash between any two is harmless.
package etcd2

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/cacher"
	"kube2014/pkg/storage/etcd2/manifestlist"
	"kube2014/pkg/storage/etcd2/mirror"
)

// Client is the part of etcd's v2 keys API that the store uses.
type Client = mirror.Client

// ManifestFunc makes the manifest of a task for the kubelet of its machine. It must
// not modify the task or the services.
type ManifestFunc func(machine string, task api.Task, services []api.Service) (api.ContainerManifest, error)

// Store keeps objects in etcd. It is safe for concurrent use. It is not atomic: a
// task is three writes, and a service and its endpoints are two. Reconcile repairs
// what a crash between them leaves.
type Store struct {
	storage.ReaderFunc // over the mirror
	mirror             *mirror.Mirror
	lists              lists
	claims             *cacher.ClaimsInFlight
	warnings           warnings
	inconsistencies    inconsistencies
	manifests          ManifestFunc
	clock              *clock
}

var (
	_ storage.Interface = (*Store)(nil)
	_ storage.Clock     = (*Store)(nil)
)

// New returns a store. It does not call etcd yet.
func New(client Client, manifests ManifestFunc) *Store {
	clock, mirror := &clock{now: time.Now, sleep: time.Sleep, after: time.After}, mirror.New(client)
	return &Store{
		ReaderFunc: func(operation string) (storage.Reader, error) { return mirror.Objects, mirror.Fresh(operation) },
		mirror:     mirror,
		lists:      lists{mirror: mirror, clock: clock, writers: map[string]*listWriter{}, full: map[string]fullList{}},
		claims:     cacher.NewClaimsInFlight(),
		warnings:   warnings{clock: clock, warned: map[string]uint64{}},
		manifests:  manifests,
		clock:      clock,
	}
}

// SetClock replaces the system clock, so that tests do not depend on the speed of a
// machine. It must be called before the first request.
func (s *Store) SetClock(now func() time.Time, after func(time.Duration) <-chan time.Time) {
	s.clock.now, s.clock.after, s.mirror.After = now, after, after
}

// Now implements storage.Clock.
func (s *Store) Now() time.Time { return s.clock.now() }

// Get implements storage.Reader. If another program has put a task on several
// machines, or also stored it as a pod, Get returns the one that the index key names.
func (s *Store) Get(key api.Key) (*storage.Object, error) {
	operation := "get " + string(key.Kind)
	if err := s.mirror.Fresh(operation); err != nil {
		return nil, err
	}
	copies := s.mirror.Copies(key)
	if len(copies) > 1 {
		found, err := s.readIndexKey(operation, key.ID)
		if err != nil {
			return nil, err
		}
		if found.version != 0 {
			copies = slices.DeleteFunc(copies, func(one *mirror.Stored) bool { return one.Place != found.Place })
		}
	}
	if len(copies) == 0 {
		return nil, api.NewNotFound(key.Kind, key.ID)
	}
	return copies[0].Object, copies[0].Err
}

// location is where a task is, or where its index key says it is.
type location struct {
	mirror.Place
	version uint64 // of the index key; 0 when there is none
	seen    uint64 // etcd's version when the index key was looked up
}

// readIndexKey reads a task's index key. A key with an invalid value counts as none.
func (s *Store) readIndexKey(operation, taskID string) (location, error) {
	node, seen, err := s.mirror.Read(mirror.IndexKeyOf(taskID), false)
	found := location{seen: seen}
	if err == nil && node != nil {
		if p, _, ok := mirror.Indexed(taskID, node.Value); ok {
			found.Place, found.version = p, node.ModifiedIndex
		}
	}
	return found, mirror.Failed(operation, err)
}

// expected returns the stored object that a change expects, nil if it expects none,
// and an error if the expectation is not met. It reads from etcd only in that case. A
// corrupt object counts as existing.
func (s *Store) expected(change storage.Change) (*mirror.Stored, error) {
	if now, err := s.cachedAsExpected(change); err == nil {
		return now, nil
	}
	return s.freshAsExpected(change)
}

// freshAsExpected is like expected, but reads from etcd in any case.
func (s *Store) freshAsExpected(change storage.Change) (*mirror.Stored, error) {
	if err := s.mirror.Fresh("check " + string(change.Key.Kind)); err != nil {
		return nil, err
	}
	return s.cachedAsExpected(change)
}

// cachedAsExpected is like expected, but reads only the mirror.
func (s *Store) cachedAsExpected(change storage.Change) (now *mirror.Stored, err error) {
	if copies := s.mirror.Copies(change.Key); len(copies) > 0 { // another program may have stored two
		i := slices.IndexFunc(copies, func(one *mirror.Stored) bool { return one.Version == change.Expected })
		now = copies[max(i, 0)]
		if now.Err != nil && !now.Dir && (change.Expected == storage.Present || change.Expected == now.Version) {
			return now, nil
		}
	}
	return now, storage.CheckExpected(change, now.ObjectIn())
}

// List implements storage.Reader. Corrupt objects are logged and left out.
func (s *Store) List(selection storage.Selection) (*storage.List, error) {
	if err := s.mirror.Fresh(storage.ListInWords(selection.Kind)); err != nil {
		return nil, err
	}
	s.unreadable()
	return s.mirror.Objects.List(selection)
}

// FirstFree implements storage.Reader. It skips machines with corrupt values, because
// their used host ports are unknown, and machines whose list has no room (D41). If no
// other machine is free, the error names the reason: it is an api.Internal or an
// api.Conflict one.
func (s *Store) FirstFree(candidates iter.Seq[api.Object]) (api.Object, error) {
	if err := s.mirror.Fresh("place task"); err != nil {
		return nil, err
	}
	reasons := map[string]error{}
	for _, bad := range slices.Backward(s.unreadable()) {
		reasons[bad.Machine] = bad.Err
	}
	var skipped error
	for candidate := range candidates {
		task, isTask := candidate.(*api.Task)
		if !isTask || !mirror.IsTask(task.Key()) { // only these have claims
			return candidate, nil
		}
		kind, why := api.Internal, reasons[task.CurrentState.Host]
		if why == nil {
			machine := s.mirror.Machine(task.CurrentState.Host)
			if !machine.Fits(task.ID, task.HostPorts()) || s.claims.Check(task) != nil {
				continue
			}
			if kind, why = api.Conflict, s.checkRoom(machine, task); why == nil {
				return task, nil
			}
		}
		if skipped == nil {
			skipped = &api.Error{Kind: kind, Err: errors.Unwrap(why),
				Message: "no machine takes task " + api.Quote(task.ID) + ": machine " + task.CurrentState.Host + " is passed over, " + why.Error()}
		}
	}
	return nil, skipped
}

// checkRoom returns an error if etcd has refused a list that was no larger than a
// machine's list with the task added.
func (s *Store) checkRoom(machine *mirror.Machine, task *api.Task) error {
	refused := s.lists.refusedSize(machine)
	if refused == 0 {
		return nil
	}
	manifest, err := s.makeManifest(task)
	if err == nil && len(manifestlist.Encode(append(slices.Clone(machine.Manifests), manifest))) >= refused {
		err = tooLarge(machine.Name, nil)
	}
	return err
}

// Watch implements storage.Reader. See Follow for the changes of other programs.
func (s *Store) Watch(selection storage.Selection, after uint64) (storage.Watcher, error) {
	s.mirror.Watch()
	if err := s.mirror.Fresh("watch"); err != nil {
		return nil, err
	}
	s.mirror.Extend(after)
	return s.mirror.Objects.Watch(selection, after)
}

// Follow delivers the changes of other programs to watchers, until the context ends.
// They receive own changes without it.
func (s *Store) Follow(ctx context.Context) { s.mirror.Follow(ctx) }

// Cached implements storage.Interface.
func (s *Store) Cached() storage.Reader { return s.mirror.Objects }

// Healthz returns an api.Unavailable error if etcd does not answer. Otherwise the
// warnings name each key with a corrupt value, one key per line.
func (s *Store) Healthz() (warnings []string, err error) {
	if err := s.mirror.Fresh("health check"); err != nil {
		return nil, err
	}
	unreadable := s.unreadable()
	// The directory of the index keys is hidden: the mirror does not have it.
	_, _, err = s.mirror.Read(mirror.IndexKeyOf("_none"), false)
	if mirror.HasCode(err, mirror.NotADirectory) {
		var node *etcd.Node
		node, _, err = s.mirror.Read(mirror.IndexKey, false)
		if bad := mirror.Misplaced(node); bad != nil {
			warnings = append(warnings, bad.Err.Error())
		}
	}
	if err != nil {
		return nil, mirror.Failed("health check", err)
	}
	for _, bad := range unreadable {
		warnings = append(warnings, bad.Err.Error())
	}
	return warnings, nil
}

// unreadable returns and logs the corrupt values.
func (s *Store) unreadable() []*mirror.Stored {
	unreadable := s.mirror.Unreadable()
	for _, bad := range unreadable {
		s.warnings.warn(bad.Key, bad.Version, api.InFull(bad.Err))
	}
	return unreadable
}
