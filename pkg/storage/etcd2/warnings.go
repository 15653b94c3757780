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
