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
	"kube2014/pkg/storage/values"
)

// contents is what etcd had below a prefix at a revision.
type contents struct {
	revision int64
	objects  []*storage.Object
	others
}

// others is what there is besides the objects.
type others struct {
	broken  map[api.Key]*broken
	claims  map[string]claim // by key
	earlier map[string]bool  // the keys of objects in the layout without namespaces
}

// broken is what is in the key of an object but cannot be decoded.
type broken struct {
	version, created uint64
	err              error
}

// claim is what is in the key of a claim.
type claim struct {
	owner    string // its path
	revision int64
}

func newOthers() others {
	return others{map[api.Key]*broken{}, map[string]claim{}, map[string]bool{}}
}

// set notes what is in a key that is for no object.
func (o *others) set(k keys, kv *mvccpb.KeyValue) {
	switch key := string(kv.Key); {
	case k.isClaim(key):
		o.claims[key] = claim{string(kv.Value), kv.ModRevision}
	case k.isEarlier(key):
		o.earlier[key] = true
	}
}

// remove forgets what was in a key.
func (o *others) remove(key string) {
	delete(o.claims, key)
	delete(o.earlier, key)
}

// LayoutError is an error for objects in the layout without namespaces, which an earlier server has written.
// They are not migrated, because a uid may be derived from the revision of the creation.
type LayoutError struct{ Key string }

// Error names a key, and what to do.
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

// state is what etcd had at a revision. A state that follows etcd is changed, but not while
// somebody holds its lock. The objects have a lock of their own as well, and may be read
// without this one.
type state struct {
	objects *storage.Cache

	mu       sync.Mutex // guards what follows
	loaded   bool
	revision int64
	waiters  map[*waiter]bool
	others
}

func newState() *state {
	return &state{objects: storage.NewCache(0), waiters: map[*waiter]bool{}, others: newOthers()}
}

// stateOf returns a state that does not follow etcd.
func stateOf(read *contents) *state {
	s := newState()
	s.reset(read)
	return s
}

// reset makes what was read the state. Whoever watches is cut off.
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

// waiter is somebody who waits for a revision.
type waiter struct {
	revision int64
	reached  chan struct{} // closed when the state has reached the revision
}

// forget lets everything be read anew.
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

// await waits until the state has reached a revision, or until there has been enough
// waiting. It reports which.
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

// isLoaded reports whether everything has been read.
func (s *state) isLoaded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// size returns how many keys the state has.
func (s *state) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.Len() + len(s.broken) + len(s.claims) + len(s.earlier)
}

// has reports whether a key means something to the store, and whether the state has this version of
// it. It does not look at the value.
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
	s.mu.Lock() // an object may become unreadable, and the reverse
	defer s.mu.Unlock()
	if bad := s.broken[key]; bad != nil {
		return nil, bad.err
	}
	return s.objects.Get(key)
}

// unreadable returns all that cannot be decoded.
func (s *state) unreadable() []*broken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.broken))
}

// owner returns the object that holds the claim of a key, if there is one. An object that
// cannot be decoded holds what its keys say. The caller holds the lock.
func (s *state) owner(k keys, key string) (of api.Key, held bool) {
	of, ok := values.KeyAt(s.claims[key].owner)
	if !ok || s.broken[of] != nil {
		return of, ok
	}
	object, err := s.objects.Get(of)
	return of, err == nil && slices.ContainsFunc(object.AppendClaims(nil), func(claim api.Claim) bool { return k.claim(claim) == key })
}

// apply makes the changes of one response of a watch: all of one revision together.
func (s *state) apply(k keys, response clientv3.WatchResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// applyTogether makes the changes of a revision. The caller holds the lock.
func (s *state) applyTogether(k keys, events []*clientv3.Event, revision int64) {
	_ = s.objects.Update(func(tx *storage.Tx) error { // it fails only if the function does
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

// decode returns the object in a key, or what is wrong with it. Its id is that of the key.
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
