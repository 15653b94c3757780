package etcd2

import (
	"sync"
	"time"
)

// inconsistency identifies an inconsistency in etcd, with the version of the key that
// shows it: another version makes it a new one, because something has changed.
type inconsistency struct {
	what, machine, id string
	version           uint64
}

// repair is an inconsistency and its repair, which checks again before it writes.
type repair struct {
	inconsistency
	do func() error
}

// inconsistencies remembers those that may be requests in progress.
type inconsistencies struct {
	mu    sync.Mutex                  // guards first
	first map[inconsistency]time.Time // when each was first seen
}

// due returns the repairs of those that have stayed unchanged for the grace period,
// and remembers the others.
func (s *inconsistencies) due(found []repair, now time.Time) (due []repair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := map[inconsistency]time.Time{}
	for _, one := range found {
		since, seen := s.first[one.inconsistency]
		if !seen {
			since = now
		}
		first[one.inconsistency] = since
		if now.Sub(since) >= grace {
			due = append(due, one)
		}
	}
	s.first = first
	return due
}
