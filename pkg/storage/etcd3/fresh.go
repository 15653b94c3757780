package etcd3

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// eventPatience is how long a read waits for changes that etcd has already made. Usually
	// the watch is about to receive them.
	eventPatience = 10 * time.Millisecond
	// progressPeriod is how often progress is requested while a read waits.
	progressPeriod = 100 * time.Millisecond
	// maxSilence is how long a read waits for the watch. Then it reads from etcd; and if the
	// watch has received nothing meanwhile, a new one begins.
	maxSilence = 500 * time.Millisecond
)

// fresh returns a state with every change that was acknowledged, by any process, before the
// call: the cache, or a state that was read from etcd.
func (s *Store) fresh(operation string) (*state, error) {
	s.begin()
	revision, err := s.revisions.Do(s.fetchRevision)
	if err != nil {
		return nil, failed(operation, err)
	}
	now, err := s.reach(operation, revision)
	if err != nil {
		return nil, err
	}
	now.mu.Lock()
	defer now.mu.Unlock()
	return now, now.checkLayout()
}

// fetchRevision returns etcd's revision.
func (s *Store) fetchRevision() (int64, error) {
	floor := s.floor()
	resp, err := s.client.Do(context.Background(), clientv3.OpGet(s.keys.root(), clientv3.WithCountOnly()))
	if err != nil {
		return 0, err
	}
	revision := resp.Get().Header.Revision
	s.observe(revision, floor)
	return revision, nil
}

// floor returns the minimum revision of the next answer of etcd.
func (s *Store) floor() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.highest
}

// observe records the revision in an answer. floor is that before the call. A lower revision
// means that this is another etcd, or one that has lost its data: everything is read again.
func (s *Store) observe(revision, floor int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision < floor {
		s.highest, s.target, s.found = 0, 0, nil
		s.losses++
		s.cache.forget()
		s.watch.end()
	}
	s.highest = max(s.highest, revision)
}

// reach returns a state that is not older than a revision of etcd.
func (s *Store) reach(operation string, revision int64) (*state, error) {
	if now := s.newest(); now.reaches(revision) {
		return now, nil
	}
	if s.cache.await(revision, time.After(eventPatience)) {
		return s.cache, nil
	}
	s.mu.Lock()
	s.target = max(s.target, revision)
	s.mu.Unlock()
	reached, err := s.behind.Do(s.catchUp)
	if err != nil {
		return nil, failed(operation, err)
	}
	return reached, nil
}

var errBehind = errors.New("etcd has not shown its changes in time")

// catchUp waits until the cache has reached the target, with the help of etcd's progress
// notifications. If that takes too long, or the notifications are not reliable, it reads everything
// for the waiting requests; the cache itself is updated only by its watch.
func (s *Store) catchUp() (*state, error) {
	s.mu.Lock()
	target := s.target
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	first, _ := s.cache.next()
	for began := time.Now(); ; {
		_, loaded := s.cache.next()
		watching := false
		if loaded { // else wait until it is filled
			err := s.requestProgress(ctx)
			if err != nil && !errors.Is(err, errNotWatching) {
				return s.readNow(ctx)
			}
			watching = err == nil
		}
		switch {
		case s.cache.await(target, time.After(progressPeriod)):
			return s.cache, nil
		case ctx.Err() != nil:
			return nil, errBehind
		case loaded && time.Since(began) > s.watchPatience:
			if now, _ := s.cache.next(); watching && now == first { // else the watch is only slow
				s.restartWatch()
			}
			return s.readNow(ctx)
		}
	}
}

// readNow reads the state of etcd.
func (s *Store) readNow(ctx context.Context) (*state, error) {
	s.mu.Lock()
	losses := s.losses
	s.mu.Unlock()
	read, err := s.readAll(ctx)
	if err != nil {
		return nil, err
	}
	found := stateOf(read)
	s.retain(found, losses)
	return found, nil
}
