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
	broken   map[place]*broken
	ports    map[string]hostPort
}

// broken is what is in the key of an object but cannot be decoded.
type broken struct {
	version, created uint64
	err              error
}

// hostPort is what is in the key of a host port.
type hostPort struct {
	taskID   string
	revision int64
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
	broken   map[place]*broken
	ports    map[string]hostPort // by key
}

func newState() *state {
	return &state{objects: storage.NewCache(0), waiters: map[*waiter]bool{}, broken: map[place]*broken{}, ports: map[string]hostPort{}}
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
	s.loaded, s.broken, s.ports = true, read.broken, read.ports
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

// is reports whether the state is what was read. What is known is not decoded again when it
// is read, so it is the same object.
func (s *state) is(read *contents) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, kind := range values.Kinds() {
		list, _ := s.objects.List(kind, nil) // a cache answers always
		count += len(list.Items)
	}
	return count == len(read.objects) && maps.Equal(s.ports, read.ports) &&
		maps.EqualFunc(s.broken, read.broken, func(a, b *broken) bool { return a.version == b.version && a.created == b.created }) &&
		!slices.ContainsFunc(read.objects, func(object *storage.Object) bool {
			cached, _ := s.objects.Get(object.GetKind(), object.GetID())
			return cached != object
		})
}

// next returns the revision after that of a loaded state.
func (s *state) next() (revision int64, loaded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision + 1, s.loaded
}

// get returns an object.
func (s *state) get(kind api.Kind, id string) (*storage.Object, error) {
	s.mu.Lock() // an object may become unreadable, and the reverse
	defer s.mu.Unlock()
	if bad := s.broken[place{kind, id}]; bad != nil {
		return nil, bad.err
	}
	return s.objects.Get(kind, id)
}

// unreadable returns all that cannot be decoded.
func (s *state) unreadable() []*broken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.broken))
}

// owner returns the task that has the host port of a key, "" if there is none. One that
// cannot be decoded has what its keys say. The caller holds the lock.
func (s *state) owner(k keys, key string) (taskID string) {
	at := place{api.TaskKind, s.ports[key].taskID}
	if at.id == "" || s.broken[at] != nil {
		return at.id
	}
	task, err := s.objects.Get(at.kind, at.id)
	if err == nil && slices.ContainsFunc(storage.HostPortsOf(task), func(has storage.HostPort) bool { return k.hostPort(has) == key }) {
		return at.id
	}
	return ""
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
			key := string(event.Kv.Key)
			at, ok := k.place(key)
			if !ok {
				s.setPort(k, event)
				continue
			}
			before := tx.Get(at.kind, at.id)
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

// setPort notes what has happened to the key of a host port. The caller holds the lock.
func (s *state) setPort(k keys, event *clientv3.Event) {
	key := string(event.Kv.Key)
	if event.Type == clientv3.EventTypeDelete {
		delete(s.ports, key)
	} else if k.isHostPort(key) {
		s.ports[key] = hostPort{string(event.Kv.Value), event.Kv.ModRevision}
	}
}

// decode returns the object in a key, or what is wrong with it. Its id is that of the key.
func decode(at place, kv *mvccpb.KeyValue) (*storage.Object, *broken) {
	object, id := values.New(at.kind)
	version, created := uint64(kv.ModRevision), uint64(kv.CreateRevision)
	if err := values.DecodeWhole(string(kv.Value), object); err != nil {
		return nil, &broken{version, created, &api.Error{Kind: api.Internal,
			Message: "the stored " + string(at.kind) + " (key " + api.Printable(string(kv.Key), '?') + ") cannot be decoded",
			Err:     &storage.Undecodable{Version: version, Err: err}}}
	}
	*id = at.id
	return storage.NewObject(object, version, created), nil
}
