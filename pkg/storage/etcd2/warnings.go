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
