// Package etcd3 is the store over etcd's v3 API: one key an object, one transaction a
// commit. Any number of apiservers may share one etcd. docs/etcd.md compares it with
// package etcd2.
package etcd3

import (
	"context"
	"iter"
	"log"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/cacher"
	"kube2014/pkg/util"
)

// Client is the part of etcd's v3 API that the store uses. Its methods are safe for
// concurrent use.
type Client interface {
	// Do makes a call, in bounded time. Reads see all writes that were acknowledged
	// before. After an error it is unknown whether a write took effect.
	Do(context.Context, clientv3.Op) (clientv3.OpResponse, error)
	// Grant grants a lease of at least the given seconds, in bounded time. When the lease
	// ends, etcd deletes the keys that were put with it.
	Grant(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error)
	// Watch returns the changes of the keys with a prefix, from a revision on, until the
	// context ends. Progress requests a response with the progress of the watch. It returns
	// an error if that fails, or if this etcd answers such requests too early.
	Watch(ctx context.Context, prefix string, revision int64) (responses clientv3.WatchChan, progress func(context.Context) error)
}

// Store keeps objects in etcd. It is safe for concurrent use, and atomic.
type Store struct {
	storage.ReaderFunc // over what fresh returns

	client  Client
	keys    keys
	timeout time.Duration // of a request: after that it begins no step
	claims  *cacher.ClaimsInFlight
	leases  *leases

	watchPatience time.Duration // how long requests wait for a silent watch

	cache     *state                  // follows etcd
	revisions util.SharedCall[int64]  // fetch etcd's revision
	behind    util.SharedCall[*state] // wait until the cache has caught up

	start     sync.Once
	extending chan struct{} // full while the history of the cache is being extended
	end       context.CancelFunc
	ended     chan struct{} // closed when follow has returned

	mu      sync.Mutex        // guards the fields below
	highest int64             // the highest revision in an answer of etcd
	target  int64             // the highest revision that a request waits for
	watch   watch             // the present one
	found   *state            // read from etcd, and newer than the cache; nil for none
	losses  int               // how often etcd has lost its data
	warned  map[string]uint64 // the logged versions of corrupt objects
}

var _ storage.Interface = (*Store)(nil)

// maxRequestTime is the age after which a request starts no further step on etcd, and how
// long it waits for its cache. A call takes at most about as long again, so a request takes
// 5 seconds when etcd hangs.
const maxRequestTime = 2500 * time.Millisecond

// New returns a store whose keys begin with a prefix such as /registry. It does not call
// etcd before it is used.
func New(client Client, prefix string) *Store {
	s := &Store{client: client, keys: makeKeys(prefix), timeout: maxRequestTime, watchPatience: maxSilence,
		cache: newState(), claims: cacher.NewClaimsInFlight(), leases: &leases{client: client},
		extending: make(chan struct{}, 1), ended: make(chan struct{})}
	s.ReaderFunc = func(operation string) (storage.Reader, error) {
		now, err := s.fresh(operation)
		if err != nil {
			return nil, err
		}
		return now.objects, nil
	}
	return s
}

// SetTimeout sets the timeout of requests, and that of a silent watch, for tests on slow machines.
// Call it before the first request.
func (s *Store) SetTimeout(timeout time.Duration) { s.timeout, s.watchPatience = timeout, timeout }

// Close stops following etcd. The store must not be used afterwards.
func (s *Store) Close() {
	s.start.Do(func() { close(s.ended) })
	if s.end != nil {
		s.end()
	}
	<-s.ended
}

// Get implements storage.Reader.
func (s *Store) Get(key api.Key) (*storage.Object, error) {
	now, err := s.fresh("get " + string(key.Kind))
	if err != nil {
		return nil, err
	}
	return now.get(key)
}

// List implements storage.Reader. Corrupt objects are logged and left out.
func (s *Store) List(selection storage.Selection) (*storage.List, error) {
	now, err := s.fresh(storage.ListInWords(selection.Kind))
	if err != nil {
		return nil, err
	}
	s.unreadable(now)
	return now.objects.List(selection)
}

// ListAt implements storage.Reader. Versions that the cache has dropped are read from etcd, until
// it has compacted them.
func (s *Store) ListAt(selection storage.Selection, version uint64) (*storage.List, error) {
	operation := storage.ListInWords(selection.Kind)
	now, err := s.fresh(operation)
	if err != nil {
		return nil, err
	}
	list, err := now.objects.ListAt(selection, version)
	if newest, _ := now.objects.Version(); api.KindOf(err) != api.Expired || version > newest || version == 0 {
		return list, err
	}
	then, readErr := s.readAt(context.Background(), s.keys.all(selection), int64(version))
	switch {
	case isCompacted(readErr):
		return nil, err
	case readErr != nil:
		return nil, failed(operation, readErr)
	}
	return stateOf(then).objects.List(selection)
}

// FirstFree implements storage.Reader. It skips candidates with a claim that another request of this
// process is about to take, or whose key names another object that holds it or is corrupt.
func (s *Store) FirstFree(candidates iter.Seq[api.Object]) (free api.Object, err error) {
	for candidate := range candidates {
		if len(candidate.AppendClaims(nil)) == 0 {
			return candidate, nil
		}
		break
	}
	now, err := s.fresh("place task")
	if err != nil {
		return nil, err
	}
	now.mu.Lock()
	defer now.mu.Unlock()
	return now.objects.FirstFree(func(send func(api.Object) bool) {
		for candidate := range candidates {
			isOwned := slices.ContainsFunc(candidate.AppendClaims(nil), func(claim api.Claim) bool {
				owner, held := now.owner(s.keys, s.keys.claim(claim))
				return held && owner != candidate.Key()
			})
			if !isOwned && s.claims.Check(candidate) == nil && !send(candidate) {
				return
			}
		}
	})
}

// Watch implements storage.Reader.
func (s *Store) Watch(selection storage.Selection, after uint64) (storage.Watcher, error) {
	if _, err := s.fresh("watch"); err != nil {
		return nil, err
	}
	s.extend(after)
	return s.Cached().Watch(selection, after)
}

// Healthz returns an api.Unavailable error if etcd does not answer. The warnings name the keys of
// corrupt objects, one line each.
func (s *Store) Healthz() (warnings []string, err error) {
	now, err := s.fresh("health check")
	if err != nil {
		return nil, err
	}
	for _, bad := range s.unreadable(now) {
		warnings = append(warnings, bad.err.Error())
	}
	slices.Sort(warnings)
	return warnings, nil
}

// unreadable returns all corrupt objects. It logs each version once.
func (s *Store) unreadable(now *state) []*broken {
	unreadable := now.unreadable()
	if len(unreadable) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	warned := map[string]uint64{}
	for _, bad := range unreadable {
		what := bad.err.Error() // it names the key
		if s.warned[what] != bad.version {
			log.Printf("etcd: %s", api.Printable(api.InFull(bad.err), '?'))
		}
		warned[what] = bad.version
	}
	s.warned = warned
	return unreadable
}
