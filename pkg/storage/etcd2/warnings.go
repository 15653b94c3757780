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

// of logs what cannot be decoded.
func (w *warnings) of(unreadable []*cache.Stored) {
	for _, s := range unreadable {
		w.warn(s.Key, s.Version, api.InFull(s.Err))
	}
}

// warn logs what is wrong with a version of a key.
func (w *warnings) warn(key string, version uint64, what string) {
	if w.isNew(key, version) {
		log.Printf("etcd key %s: %s", cache.KeyInWords(key), api.Printable(what, '?'))
	}
}

func (w *warnings) isNew(key string, version uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.warned[key] == version {
		return false
	}
	if now := w.clock.now(); now.Sub(w.since) >= warnPeriod {
		clear(w.warned)
		w.since = now
	}
	if len(w.warned) >= maxWarned {
		return false
	}
	w.warned[key] = version
	return true
}

// Healthz returns an api.Unavailable error when etcd does not answer. When it does,
// the warnings name each key that cannot be decoded, one line a key.
func (s *Store) Healthz() (warnings []string, err error) {
	if err := s.cache.Fresh("health check"); err != nil {
		return nil, err
	}
	unreadable := s.cache.Unreadable()
	s.warnings.of(unreadable)
	// The directory of the index keys is hidden: the cache does not have it.
	_, _, err = s.cache.Read(cache.IndexKeyOf("_none"), false)
	if cache.HasCode(err, cache.NotADirectory) {
		node, _, err := s.cache.Read(cache.IndexKey, false)
		if err != nil {
			return nil, cache.Failed("health check", err)
		}
		if index := cache.Misplaced(node); index != nil {
			warnings = append(warnings, index.Err.Error())
		}
	} else if err != nil {
		return nil, cache.Failed("health check", err)
	}
	for _, s := range unreadable {
		warnings = append(warnings, s.Err.Error())
	}
	return warnings, nil
}
