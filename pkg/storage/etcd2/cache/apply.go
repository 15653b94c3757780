package cache

import (
	"maps"
	"slices"
	"strings"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Change is a change of one key. An own write fills in what it writes, so that it
// need not be decoded.
type Change struct {
	Key       string
	Object    api.Object // that is written; the cache owns it
	Created   uint64     // of an object whose creation the answer does not tell
	Manifests []Manifest // of a list that is written
	TTL       uint64     // in seconds, of what is written; 0 is for ever

	Version uint64          // when it has been made
	Written *storage.Object // when it has been made
	node    *etcd.Node      // what another program has written
}

// state is what etcd had at one of its versions. The Objects have a lock of their own,
// the rest has none.
type state struct {
	Objects  *storage.Cache // as of the version
	loaded   bool
	version  uint64             // all changes up to this one are applied
	waiting  map[uint64]*Change // own changes after a gap, by their version
	machines map[string]*Machine
	broken   map[string]*Stored // what cannot be decoded, by key
}

// maxWaiting bounds waiting while nobody reads.
const maxWaiting = 1000

// forget lets everything be read anew: it is of another etcd.
func (s *state) forget() {
	s.loaded, s.version = false, 0
	s.waiting, s.machines, s.broken = map[uint64]*Change{}, map[string]*Machine{}, map[string]*Stored{}
}

// reset makes what was read the state, and applies the own changes that are newer. If
// the state is as new already, because a gap has been closed meanwhile, it stays.
func (s *state) reset(read *contents, version uint64) {
	if s.loaded && s.version >= version {
		return
	}
	s.loaded, s.version, s.machines, s.broken = true, version, read.machines, read.broken
	s.Objects.Reset(version, read.objects)
	maps.DeleteFunc(s.waiting, func(change uint64, _ *Change) bool { return change <= version })
	s.advance()
}

// add applies a change: at once, or when no earlier one is missing.
func (s *state) add(change *Change) {
	if change.Version <= s.version {
		return // it was in what was read
	}
	if len(s.waiting) >= maxWaiting {
		clear(s.waiting) // they are read again
	}
	s.waiting[change.Version] = change
	s.advance()
}

// advance applies the changes up to the next gap.
func (s *state) advance() {
	for s.loaded && s.waiting[s.version+1] != nil {
		s.version++
		next := s.waiting[s.version]
		delete(s.waiting, s.version)
		s.apply(next)
	}
}

// apply applies the next change, and makes it an event for those who watch.
func (s *state) apply(change *Change) {
	var before, after *storage.Object
	if p, ours, _ := placeOf(change.Key); ours {
		var made *Stored
		before, made = s.put(p, change)
		after = made.ObjectIn()
		delete(s.broken, change.Key)
		if made != nil && made.Err != nil {
			s.broken[made.Key] = made
		}
	}
	_ = s.Objects.Update(func(tx *storage.Tx) error { // it fails only if the function does
		if before == nil && after == nil {
			tx.Skip(change.Version)
		} else {
			tx.Replace(before, after, change.Version)
		}
		return nil
	})
}

// put puts what a change has written into its place, but for the Objects. It returns
// the object that was there, and what is there now; of a list only what cannot be
// decoded.
func (s *state) put(p Place, change *Change) (before *storage.Object, after *Stored) {
	if p.Kind == "" {
		machine := s.machine(p.Machine)
		var list manifestList
		if change.node != nil {
			list = decodeList(p.Machine, change.node, list)
		} else if change.Manifests != nil {
			list = manifestList{Manifests: change.Manifests, ListVersion: change.Version}
		}
		s.machines[p.Machine] = makeMachine(p.Machine, change.Version, machine.Tasks, list)
		return nil, list.Broken
	}
	if change.Written != nil {
		after = MakeStored(p, change.Written)
	} else if change.node != nil {
		after = decodeObject(p, change.node, nil)
	}
	before = objectAt(s.Objects, p)
	if IsTask(p.Of()) {
		from := p.Machine
		if before != nil {
			from = MakeStored(p, before).Host()
		}
		if after == nil || after.Host() != from {
			s.machines[from] = s.machine(from).WithTask(p, nil, change.Version)
		}
		if after != nil {
			s.machines[after.Host()] = s.machine(after.Host()).WithTask(p, after, change.Version)
		}
	}
	return before, after
}

// unreadable returns all that cannot be decoded, sorted by key.
func (s *state) unreadable() []*Stored {
	return slices.SortedFunc(maps.Values(s.broken), func(a, b *Stored) int { return strings.Compare(a.Key, b.Key) })
}

// machine returns a machine, which may be empty.
func (s *state) machine(name string) *Machine {
	if machine := s.machines[name]; machine != nil {
		return machine
	}
	return makeMachine(name, 0, nil, manifestList{})
}
