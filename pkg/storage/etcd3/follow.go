package etcd3

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/util"
)

// retryPause is the pause between two watches of etcd.
const retryPause = 250 * time.Millisecond

// maxExtension bounds the number of revisions of an extension of the history.
const maxExtension = 10000

// maxTogether bounds how many responses of a watch are applied together: writers wait meanwhile.
const maxTogether = 100

// watch is the watch of etcd that updates the cache.
type watch struct {
	cancel   context.CancelFunc
	progress func(context.Context) error // nil before the watch begins, while everything is read
}

func (w watch) end() {
	if w.cancel != nil {
		w.cancel()
	}
}

var errNotWatching = errors.New("nothing follows etcd yet")

// begin starts following etcd, once.
func (s *Store) begin() {
	s.start.Do(func() {
		ctx, end := context.WithCancel(context.Background())
		s.end = end
		go s.follow(ctx)
	})
}

// follow applies the changes of etcd to the cache until the context ends.
func (s *Store) follow(ctx context.Context) {
	defer close(s.ended)
	for ctx.Err() == nil {
		watching, cancel := context.WithCancel(ctx)
		s.setWatch(watch{cancel: cancel})
		s.followOnce(watching)
		cancel()
		util.Sleep(ctx, retryPause)
	}
}

// followOnce applies the changes of etcd to the cache until one watch fails.
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
			return // requests that wait for the cache report the failure
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
	for waiting := range together(ctx, responses) {
		s.cache.apply(s.keys, waiting)
		last := waiting[len(waiting)-1]
		if last.CompactRevision != 0 { // etcd has compacted changes that the cache lacks
			s.cache.forget()
		}
		if last.Err() != nil {
			return
		}
	}
}

// together passes responses on: all that wait for the receiver come as one, so that it keeps up with many writers. Only the last
// of all may be an error.
func together(ctx context.Context, responses clientv3.WatchChan) <-chan []clientv3.WatchResponse {
	batches := make(chan []clientv3.WatchResponse)
	go func() {
		defer close(batches)
		var waiting []clientv3.WatchResponse
		for responses != nil || len(waiting) > 0 {
			in, out := responses, batches
			if len(waiting) == 0 {
				out = nil
			} else if len(waiting) == maxTogether {
				in = nil
			}
			select {
			case response, ok := <-in:
				if !ok {
					responses = nil
					continue
				}
				waiting = append(waiting, response)
			case out <- waiting:
				waiting = nil
			case <-ctx.Done():
				return
			}
		}
	}()
	return batches
}

// isAsCached reports whether etcd's keys at a revision are those of the cache. They are not if etcd
// was restored from a backup.
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

// fill replaces the cache by what was read, unless the context of the watch has ended: etcd may have
// lost its data meanwhile.
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

// restartWatch ends the present watch, so that a new one begins.
func (s *Store) restartWatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch.end()
}

// requestProgress requests a progress notification of the present watch.
func (s *Store) requestProgress(ctx context.Context) error {
	s.mu.Lock()
	progress := s.watch.progress
	s.mu.Unlock()
	if progress == nil {
		return errNotWatching
	}
	return progress(ctx)
}

// extend prepends changes to the history, so that the client of another process can continue its
// watch after a version that this process has not seen. It reads the state at that version, and
// applies the changes up to the beginning of the history. If etcd has compacted them, or does not
// send them in time, the history stays as it is.
func (s *Store) extend(after uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	select { // many watches may begin at once: usually one extension is enough
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
	if progress(ctx) != nil { // then only changes show the progress of the watch
		enough = time.After(maxSilence)
	}
	ticker := time.NewTicker(progressPeriod)
	defer ticker.Stop()
	for !earlier.reaches(int64(since)) {
		select {
		case response, ok := <-responses:
			if !ok || response.Err() != nil {
				return
			}
			earlier.apply(s.keys, []clientv3.WatchResponse{response})
		case <-ticker.C: // etcd does not answer while it is still sending changes
			_ = progress(ctx) // if it fails, a timeout follows
		case <-enough:
			return
		case <-ctx.Done():
			return
		}
	}
	if events, all := earlier.objects.Events(since); all { // else they exceed the bounds of a history
		s.cache.objects.Extend(after, since, events)
	}
}
