package etcd3

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// eventPatience is how long a read waits for the watch to show what etcd has answered
	// already. Mostly that is on its way.
	eventPatience = 10 * time.Millisecond
	// progressPeriod is how often progress is requested while a read waits.
	progressPeriod = 100 * time.Millisecond
	// maxSilence is how long a read waits for the watch. Then it goes to etcd; and if the
	// watch has shown nothing meanwhile, another one begins.
	maxSilence = 500 * time.Millisecond
)

// fresh returns a state that has every change that was acknowledged, by any process, before
// the call: the cache, or what etcd has.
func (s *Store) fresh(operation string) (*state, error) {
	s.begin()
	revision, err := s.asking.Do(s.ask)
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

// ask gets etcd's revision.
func (s *Store) ask() (int64, error) {
	floor := s.floor()
	resp, err := s.client.Do(context.Background(), clientv3.OpGet(s.keys.root(), clientv3.WithCountOnly()))
	if err != nil {
		return 0, err
	}
	revision := resp.Get().Header.Revision
	s.hear(revision, floor)
	return revision, nil
}

// floor returns the revision that the answer to the next call must have at least.
func (s *Store) floor() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.highest
}

// hear notes the revision in the answer to a call before which the floor was asked for. If
// it is lower, this is another etcd, or one that has lost its data: all is read anew.
func (s *Store) hear(revision, floor int64) {
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

// note notes a revision that etcd has answered.
func (s *Store) note(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.highest = max(s.highest, revision)
}

// reach returns a state that is not older than a revision that etcd has just answered.
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
// notifications. If that takes too long, or if etcd's cannot be trusted, it reads
// everything, for those who wait: the cache follows only its watch.
func (s *Store) catchUp() (*state, error) {
	s.mu.Lock()
	target := s.target
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	first, _ := s.cache.next()
	for began := time.Now(); ; {
		loaded, watching := s.cache.isLoaded(), false
		if loaded { // else it is being filled, and waited for
			err := s.askProgress(ctx)
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
			if now, _ := s.cache.next(); watching && now == first { // else it only takes long
				s.followAnew()
			}
			return s.readNow(ctx)
		}
	}
}

// readNow returns what etcd has.
func (s *Store) readNow(ctx context.Context) (*state, error) {
	s.mu.Lock()
	losses := s.losses
	s.mu.Unlock()
	read, err := s.readAll(ctx)
	if err != nil {
		return nil, err
	}
	found := stateOf(read)
	s.keep(found, losses)
	return found, nil
}
