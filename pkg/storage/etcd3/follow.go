package etcd3

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// retryPause is how long nothing follows etcd after that has failed.
const retryPause = 250 * time.Millisecond

// maxExtension bounds how many revisions the history is extended by.
const maxExtension = 10000

// watch is a watch of etcd that feeds the cache.
type watch struct {
	cancel   context.CancelFunc
	progress func(context.Context) error // nil while everything is read
}

func (w watch) end() {
	if w.cancel != nil {
		w.cancel()
	}
}

var errNotWatching = errors.New("nothing follows etcd yet")

// begin lets the cache follow etcd from now on.
func (s *Store) begin() {
	s.start.Do(func() {
		ctx, end := context.WithCancel(context.Background())
		s.end = end
		go s.follow(ctx)
	})
}

// follow lets the cache follow etcd until the context ends.
func (s *Store) follow(ctx context.Context) {
	defer close(s.ended)
	for ctx.Err() == nil {
		watching, cancel := context.WithCancel(ctx)
		s.setWatch(watch{cancel: cancel})
		s.followOnce(watching)
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// followOnce lets the cache follow etcd until that fails.
func (s *Store) followOnce(ctx context.Context) {
	revision, loaded := s.cache.next()
	if loaded {
		same, err := s.isAsCached(ctx, revision-1)
		if err != nil {
			return
		}
		if loaded = same; !same {
			s.cache.forget()
		}
	}
	if !loaded {
		read, err := s.readAll(ctx)
		if err != nil {
			return // who waits for the cache tells that etcd does not answer
		}
		if !s.fill(ctx, read) {
			return
		}
		revision = read.revision + 1
	}
	responses, progress := s.client.Watch(ctx, s.keys.root(), revision)
	s.mu.Lock()
	s.watch.progress = progress
	s.mu.Unlock()
	for response := range responses {
		if response.Err() != nil {
			if response.CompactRevision != 0 { // what has happened since, nobody knows any more
				s.cache.forget()
			}
			return
		}
		s.cache.apply(s.keys, response)
	}
}

// isAsCached reports whether etcd has had at a revision what the cache has. An etcd that was
// restored from a backup has had something else then.
func (s *Store) isAsCached(ctx context.Context, revision int64) (bool, error) {
	seen, same := 0, true
	_, err := s.eachAt(ctx, s.keys.root(), revision, func(kv *mvccpb.KeyValue) {
		ours, unchanged := s.cache.has(s.keys, kv)
		if ours {
			seen, same = seen+1, same && unchanged
		}
	}, clientv3.WithKeysOnly())
	if isCompacted(err) || errors.Is(err, rpctypes.ErrFutureRev) {
		return false, nil
	}
	return same && seen == s.cache.size(), err
}

// fill makes what was read the cache, unless the watch that it is for has ended: etcd may
// have lost that meanwhile.
func (s *Store) fill(ctx context.Context, read *contents) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	s.cache.reset(read)
	return true
}

func (s *Store) setWatch(present watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch = present
}

// followAnew ends the present watch, so that another one begins.
func (s *Store) followAnew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch.end()
}

// askProgress asks the present watch how far it is.
func (s *Store) askProgress(ctx context.Context) error {
	s.mu.Lock()
	progress := s.watch.progress
	s.mu.Unlock()
	if progress == nil {
		return errNotWatching
	}
	return progress(ctx)
}

// extend lets whoever has watched another process go on after a version that this one has
// not seen: it takes what etcd had then, and lets it follow etcd up to where the history
// of the cache begins. If etcd has compacted it, or does not show all of it soon, nothing
// changes.
func (s *Store) extend(after uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	select { // many may begin to watch at once: mostly one extension is enough
	case s.extending <- struct{}{}:
		defer func() { <-s.extending }()
	case <-ctx.Done():
		return
	}
	since := s.cache.objects.Since()
	if after == 0 || after >= since || since-after > maxExtension { // for etcd, revision 0 is the present one
		return
	}
	then, err := s.readAt(ctx, s.keys.root(), int64(after))
	if err != nil {
		return
	}
	earlier := stateOf(then)
	responses, progress := s.client.Watch(ctx, s.keys.root(), int64(after)+1)
	var enough <-chan time.Time
	if progress(ctx) != nil { // then only a change can tell how far the watch is
		enough = time.After(maxSilence)
	}
	asking := time.NewTicker(progressPeriod)
	defer asking.Stop()
	for !earlier.reaches(int64(since)) {
		select {
		case response, ok := <-responses:
			if !ok || response.Err() != nil {
				return
			}
			earlier.apply(s.keys, response)
		case <-asking.C: // etcd does not answer while it still sends what has happened
			_ = progress(ctx) // without, the time is up
		case <-enough:
			return
		case <-ctx.Done():
			return
		}
	}
	if events, all := earlier.objects.Events(since); all { // else there are more than a history holds
		s.cache.objects.Extend(after, since, events)
	}
}
