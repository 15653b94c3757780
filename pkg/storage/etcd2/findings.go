package etcd2

import (
	"log"
	"sync"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage/etcd2/mirror"
)

const (
	// maxWarned bounds the number of values that are logged in a warnPeriod.
	maxWarned  = 1000
	warnPeriod = time.Hour
)

// warnings logs unexpected values in etcd, each once in a warnPeriod.
type warnings struct {
	clock *clock

	mu     sync.Mutex        // guards the fields below
	warned map[string]uint64 // key → version of the logged value
	since  time.Time         // when warned was last cleared
}

// warn logs a problem with a version of a key.
func (w *warnings) warn(key string, version uint64, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.warned[key] == version {
		return
	}
	if now := w.clock.now(); now.Sub(w.since) >= warnPeriod {
		clear(w.warned)
		w.since = now
	}
	if len(w.warned) < maxWarned {
		w.warned[key] = version
		log.Printf("etcd key %s: %s", mirror.KeyInWords(key), api.Printable(what, '?'))
	}
}

// finding identifies an inconsistency in etcd, with the version of the key that
// shows it: another version makes it a new one, because something has changed.
type finding struct {
	what, machine, id string
	version           uint64
}

// inconsistency is a finding and its repair, which checks again before it writes.
type inconsistency struct {
	finding
	repair func() error
}

// sightings remembers the inconsistencies that may be requests in progress.
type sightings struct {
	mu    sync.Mutex            // guards first
	first map[finding]time.Time // when each was first seen
}

// due returns the inconsistencies that have stayed unchanged for the grace period,
// and remembers the others.
func (s *sightings) due(found []inconsistency, now time.Time) (due []inconsistency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := map[finding]time.Time{}
	for _, one := range found {
		since, seen := s.first[one.finding]
		if !seen {
			since = now
		}
		first[one.finding] = since
		if now.Sub(since) >= grace {
			due = append(due, one)
		}
	}
	s.first = first
	return due
}
