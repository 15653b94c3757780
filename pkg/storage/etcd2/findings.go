package etcd2

import (
	"log"
	"sync"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage/etcd2/cache"
)

const (
	// maxWarned bounds how many values are logged in a warnPeriod.
	maxWarned  = 1000
	warnPeriod = time.Hour
)

// warnings logs what is not what it should be in etcd: once for each value in a
// warnPeriod.
type warnings struct {
	clock *clock

	mu     sync.Mutex        // guards what follows
	warned map[string]uint64 // key → version of the value that was warned of
	since  time.Time         // when that was empty
}

// warn logs what is wrong with a version of a key.
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
		log.Printf("etcd key %s: %s", cache.KeyInWords(key), api.Printable(what, '?'))
	}
}

// finding names an inconsistency in etcd, and the version of the key that shows it:
// with another version it is a new one, because something has changed.
type finding struct {
	what, machine, id string
	version           uint64
}

// inconsistency is a finding and its repair, which checks again before it writes.
type inconsistency struct {
	finding
	repair func() error
}

// sightings remembers the inconsistencies that may be requests at work.
type sightings struct {
	mu    sync.Mutex            // guards first
	first map[finding]time.Time // when each was first seen
}

// due returns the inconsistencies that have stayed unchanged for the grace, and
// remembers the others.
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
