package etcd3

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/cacher"
	"kube2014/pkg/storage/values"
)

// contents holds the keys below a prefix at a revision.
type contents struct {
	revision int64
	objects  []*storage.Object
	others
}

// others holds the keys that are not readable objects.
type others struct {
	broken  map[api.Key]*broken
	claims  map[string]claim // by key
	earlier map[string]bool  // the keys of objects in the layout without namespaces
}

// broken is a corrupt object.
type broken struct {
	version, created uint64
	err              error
}

// claim is the value of the key of a claim.
type claim struct {
	owner    string // its path
	revision int64
}

func newOthers() others {
	return others{map[api.Key]*broken{}, map[string]claim{}, map[string]bool{}}
}

// set records a key that is not for an object.
func (o *others) set(k keys, kv *mvccpb.KeyValue) {
	switch key := string(kv.Key); {
	case k.isClaim(key):
		o.claims[key] = claim{string(kv.Value), kv.ModRevision}
	case k.isEarlier(key):
		o.earlier[key] = true
	}
}

func (o *others) remove(key string) {
	delete(o.claims, key)
	delete(o.earlier, key)
}

// LayoutError is the error for objects of an earlier server, in a layout without namespaces. They are not migrated,
// because a uid may be derived from the revision of the creation.
type LayoutError struct{ Key string }

// Error names a key, and gives advice.
func (e *LayoutError) Error() string {
	return "the etcd has objects of an earlier layout, without namespaces, such as key " + api.Printable(e.Key, '?') +
		": use another prefix, or delete all keys below this one"
}

// checkLayout returns an api.Unavailable error, because of a LayoutError, for objects in the earlier layout.
func (o *others) checkLayout() error {
	for key := range o.earlier {
		cause := &LayoutError{key}
		return &api.Error{Kind: api.Unavailable, Message: cause.Error(), Err: cause}
	}
	return nil
}

// state holds the objects and keys of etcd at a revision. The lock guards a state that follows
// etcd. The objects also have a lock of their own, and may be read without this one.
type state struct {
	objects *cacher.Cache

	mu       sync.Mutex // guards the fields below
	loaded   bool
	revision int64
	waiters  map[*waiter]bool
	others
}

func newState() *state {
	return &state{objects: cacher.New(0), waiters: map[*waiter]bool{}, others: newOthers()}
}

// stateOf returns a fixed state.
func stateOf(read *contents) *state {
	s := newState()
	s.reset(read)
	return s
}

// reset replaces the state by what was read, and cuts off all watchers.
func (s *state) reset(read *contents) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects.Reset(uint64(read.revision), read.objects)
	s.loaded, s.others = true, read.others
	s.move(read.revision)
}

// move sets the revision. The caller holds the lock.
func (s *state) move(revision int64) {
	s.revision = revision
	for w := range s.waiters {
		if s.loaded && w.revision <= revision {
			close(w.reached)
			delete(s.waiters, w)
		}
	}
}

// waiter waits for a revision.
type waiter struct {
	revision int64
	reached  chan struct{} // closed when the state has reached the revision
}

// forget marks the state as not loaded, so that everything is read again.
func (s *state) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded = false
}

// reaches reports whether a loaded state has reached a revision.
func (s *state) reaches(revision int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded && s.revision >= revision
}

// await waits until the state has reached a revision, or enough receives a value. It reports whether
// the state has reached the revision.
func (s *state) await(revision int64, enough <-chan time.Time) bool {
	s.mu.Lock()
	if s.loaded && s.revision >= revision {
		s.mu.Unlock()
		return true
	}
	w := &waiter{revision, make(chan struct{})}
	s.waiters[w] = true
	s.mu.Unlock()
	select {
	case <-w.reached:
		return true
	case <-enough:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiters, w)
	return s.loaded && s.revision >= revision
}

// size returns the number of keys.
func (s *state) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.Len() + len(s.broken) + len(s.claims) + len(s.earlier)
}

// has reports whether the store uses a key, and whether the state has this version of it. It ignores the
// value.
func (s *state) has(k keys, kv *mvccpb.KeyValue) (ours, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := k.place(string(kv.Key))
	if !ok {
		key := string(kv.Key)
		return k.isClaim(key) || k.isEarlier(key), s.claims[key].revision == kv.ModRevision
	}
	if bad := s.broken[at]; bad != nil {
		return true, bad.version == uint64(kv.ModRevision) && bad.created == uint64(kv.CreateRevision)
	}
	object, err := s.objects.Get(at)
	return true, err == nil && isVersion(object, kv)
}

// next returns the revision after that of a loaded state.
func (s *state) next() (revision int64, loaded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision + 1, s.loaded
}

// get returns an object.
func (s *state) get(key api.Key) (*storage.Object, error) {
	s.mu.Lock() // an object may become corrupt, or readable again, meanwhile
	defer s.mu.Unlock()
	if bad := s.broken[key]; bad != nil {
		return nil, bad.err
	}
	return s.objects.Get(key)
}

// unreadable returns all corrupt objects.
func (s *state) unreadable() []*broken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.broken))
}

// owner returns the object that holds the claim of a key. A corrupt object holds all claims whose
// keys name it. The caller holds the lock.
func (s *state) owner(k keys, key string) (of api.Key, held bool) {
	of, ok := values.KeyAt(s.claims[key].owner)
	if !ok || s.broken[of] != nil {
		return of, ok
	}
	object, err := s.objects.Get(of)
	return of, err == nil && slices.ContainsFunc(object.AppendClaims(nil), func(claim api.Claim) bool { return k.claim(claim) == key })
}

// apply applies responses of a watch.
func (s *state) apply(k keys, responses []clientv3.WatchResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, response := range responses {
		s.applyOne(k, response)
	}
}

// applyOne applies a response: all changes of a revision together. The caller holds the lock.
func (s *state) applyOne(k keys, response clientv3.WatchResponse) {
	for events := response.Events; len(events) > 0; {
		revision := events[0].Kv.ModRevision
		n := slices.IndexFunc(events, func(event *clientv3.Event) bool { return event.Kv.ModRevision != revision })
		if n < 0 {
			n = len(events)
		}
		if revision > s.revision {
			s.applyTogether(k, events[:n], revision)
		}
		events = events[n:]
	}
	if response.IsProgressNotify() && response.Header.Revision > s.revision {
		s.applyTogether(k, nil, response.Header.Revision)
	}
}

// applyTogether applies the changes of a revision. The caller holds the lock.
func (s *state) applyTogether(k keys, events []*clientv3.Event, revision int64) {
	_ = s.objects.Update(func(tx *cacher.Tx) error { // it fails only if the function does
		for _, event := range events {
			at, ok := k.place(string(event.Kv.Key))
			if !ok {
				s.remove(string(event.Kv.Key))
				if event.Type == clientv3.EventTypePut {
					s.set(k, event.Kv)
				}
				continue
			}
			before := tx.Get(at)
			var after *storage.Object
			delete(s.broken, at)
			if event.Type == clientv3.EventTypePut {
				var bad *broken
				if after, bad = decode(at, event.Kv); bad != nil {
					s.broken[at] = bad
				}
			}
			if before != nil || after != nil {
				tx.Replace(before, after, uint64(revision))
			}
		}
		tx.Skip(uint64(revision))
		return nil
	})
	s.move(revision)
}

// decode decodes the object of a key. Its id is that of the key.
func decode(at api.Key, kv *mvccpb.KeyValue) (*storage.Object, *broken) {
	object := values.New(at)
	version, created := uint64(kv.ModRevision), uint64(kv.CreateRevision)
	if err := values.DecodeWhole(string(kv.Value), object); err != nil {
		return nil, &broken{version, created, &api.Error{Kind: api.Internal,
			Message: "the stored " + string(at.Kind) + " (key " + api.Printable(string(kv.Key), '?') + ") cannot be decoded",
			Err:     &storage.Undecodable{Version: version, Err: err}}}
	}
	return storage.NewObject(object, version, created), nil
}
