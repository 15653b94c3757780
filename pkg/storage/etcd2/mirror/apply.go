package mirror

import (
	"maps"
	"slices"
	"strings"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/cacher"
	"kube2014/pkg/storage/etcd2/manifestlist"
)

// Change is a change of one key. A write of this process also has the decoded value,
// so that it need not be decoded.
type Change struct {
	Key       string
	Object    api.Object              // the new value; the mirror owns it
	Created   uint64                  // the creation version, if etcd's answer lacks it
	Manifests []manifestlist.Manifest // the new value of a list
	TTL       uint64                  // of the new value, in seconds; 0 means no expiry

	Version uint64          // set when the change has been made
	Written *storage.Object // set when the change has been made
	node    *etcd.Node      // the new value that another program wrote
}

// state is the contents of etcd at one version. Objects has a lock of its own, the
// rest has none.
type state struct {
	Objects  *cacher.Cache // as of the version
	loaded   bool
	version  uint64             // all changes up to this one are applied
	waiting  map[uint64]*Change // changes after a gap, by version
	machines map[string]*Machine
	broken   map[string]*Stored // corrupt values, by key
}

// maxWaiting bounds the size of waiting while there are no reads.
const maxWaiting = 1000

// forget marks the state as not loaded, because it is that of another etcd.
func (s *state) forget() {
	s.loaded, s.version = false, 0
	s.waiting, s.machines, s.broken = map[uint64]*Change{}, map[string]*Machine{}, map[string]*Stored{}
}

// reset replaces the state by what was read, and applies newer own changes. It does
// nothing if the state is as new already, because a gap has been closed meanwhile.
func (s *state) reset(read *contents, version uint64) {
	if s.loaded && s.version >= version {
		return
	}
	s.loaded, s.version, s.machines, s.broken = true, version, read.machines, read.broken
	s.Objects.Reset(version, read.objects)
	maps.DeleteFunc(s.waiting, func(change uint64, _ *Change) bool { return change <= version })
	s.advance()
}

// add applies a change, once all earlier ones are applied.
func (s *state) add(change *Change) {
	if change.Version <= s.version {
		return // already included
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

// apply applies the next change, and sends it to watchers as an event.
func (s *state) apply(change *Change) {
	var before, after *storage.Object
	if p, ours, _ := placeOf(change.Key); ours {
		var stored *Stored
		before, stored = s.put(p, change)
		after = stored.ObjectIn()
		delete(s.broken, change.Key)
		if stored != nil && stored.Err != nil {
			s.broken[stored.Key] = stored
		}
	}
	_ = s.Objects.Update(func(tx *cacher.Tx) error { // it fails only if the function does
		if before == nil && after == nil {
			tx.Skip(change.Version)
		} else {
			tx.Replace(before, after, change.Version)
		}
		return nil
	})
}

// put applies a change to the state, except to Objects. It returns the object that
// was in the place, and what is there now; for a list, it returns only a corrupt
// value.
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
		after = MakeStored(change.Written)
	} else if change.node != nil {
		after = decodeObject(p, change.node, nil)
	}
	before = objectAt(s.Objects, p)
	if IsTask(p.Of()) {
		from := p.Machine
		if before != nil {
			from = MakeStored(before).Host()
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

// unreadable returns the corrupt values, sorted by key.
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
