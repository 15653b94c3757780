package util

import (
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Reloaded is a value that is made of files, and made again when one of them changes. While a
// changed file is broken, the value before it stays, and the log says so. It is safe for
// concurrent use.
type Reloaded[T any] struct {
	what  string
	load  func() (T, error)
	paths []string

	value atomic.Pointer[T]
	made  time.Time    // with a monotonic clock, which nobody sets back
	due   atomic.Int64 // when the files are looked at again, in nanoseconds since made

	mu      sync.Mutex // guards what follows, and lets one goroutine look
	seen    []fileState
	readAt  time.Time
	problem string // that the log has, "" for none
}

// reloadPeriod is how long a change may stay unnoticed.
const reloadPeriod = time.Second

// settled is how old a change must be so that another one has another time.
const settled = 2 * time.Second

// fileState tells whether a file has changed.
type fileState struct {
	info os.FileInfo // nil if there is no file
}

func (s fileState) same(other fileState) bool {
	if s.info == nil || other.info == nil {
		return s.info == nil && other.info == nil
	}
	return os.SameFile(s.info, other.info) && s.info.Size() == other.info.Size() && s.info.ModTime().Equal(other.info.ModTime())
}

// Reload makes a value of files: load reads them, and its error must not tell what is in them.
// What says in the log what the value is, such as the flag that names the files. The
// error is that of the first load.
func Reload[T any](what string, load func() (T, error), paths ...string) (*Reloaded[T], error) {
	now := time.Now()
	r := &Reloaded[T]{what: what, load: load, paths: paths, made: now, readAt: now}
	r.seen = r.look()
	value, err := load()
	if err != nil {
		return nil, err
	}
	r.value.Store(&value)
	r.due.Store(int64(reloadPeriod))
	return r, nil
}

// Get returns the value. It may be older than the files by a second.
func (r *Reloaded[T]) Get() T {
	if now := time.Since(r.made); int64(now) >= r.due.Load() && r.mu.TryLock() {
		defer r.mu.Unlock()
		r.refresh()
		r.due.Store(int64(now + reloadPeriod))
	}
	return *r.value.Load()
}

// refresh makes the value again if a file has changed, or may have changed since it was read
// without getting another time, or could not be read: what was in the way, such as its
// permissions, can go without a change of the file.
func (r *Reloaded[T]) refresh() {
	now := time.Now()
	present, changed := r.look(), r.problem != ""
	for i, state := range present {
		recent := state.info != nil && r.readAt.Sub(state.info.ModTime()) < settled
		changed = changed || recent || !state.same(r.seen[i])
	}
	if !changed {
		return
	}
	r.seen, r.readAt = present, now
	value, err := r.load()
	if err == nil {
		r.value.Store(&value)
		r.problem = ""
	} else if problem := err.Error(); problem != r.problem {
		log.Printf("%s cannot be read again, so what was read before stays: %s", r.what, problem)
		r.problem = problem
	}
}

func (r *Reloaded[T]) look() (states []fileState) {
	for _, path := range r.paths {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		states = append(states, fileState{info})
	}
	return states
}
