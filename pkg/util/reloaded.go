package util

import (
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Reloaded is a value that is loaded from files, and reloaded when one of them changes. If a
// reload fails, the old value stays and the error is logged. It is safe for concurrent use.
type Reloaded[T any] struct {
	what  string
	load  func() (T, error)
	paths []string

	value   atomic.Pointer[T]
	created time.Time    // by the monotonic clock
	due     atomic.Int64 // when the files are checked again, in nanoseconds since created

	mu      sync.Mutex    // guards what follows, and lets only one goroutine check the files
	seen    []os.FileInfo // nil for a missing file
	readAt  time.Time
	problem string // the last error that was logged, "" for none
}

// reloadPeriod is how long a change may stay unnoticed.
const reloadPeriod = time.Second

// settled is how old a modification time must be so that a later change has another one.
const settled = 2 * time.Second

// isSame reports whether a file has not changed.
func isSame(before, now os.FileInfo) bool {
	if before == nil || now == nil {
		return before == nil && now == nil
	}
	return os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// Reload loads a value from files. The error of load must not contain what is in them. The log
// calls the value by what, such as the flag that names the files. The error is that of the first
// load.
func Reload[T any](what string, load func() (T, error), paths ...string) (*Reloaded[T], error) {
	now := time.Now()
	r := &Reloaded[T]{what: what, load: load, paths: paths, created: now, readAt: now}
	r.seen = r.stat()
	value, err := load()
	if err != nil {
		return nil, err
	}
	r.value.Store(&value)
	r.due.Store(int64(reloadPeriod))
	return r, nil
}

// ReloadFile loads what a function makes of the content of a file, which may be a secret, as Reload does.
func ReloadFile[T any](what, path string, parse func([]byte) (T, error)) (*Reloaded[T], error) {
	return Reload(what, func() (T, error) { return ParseFile(path, parse) }, path)
}

// ParseFile returns what a function makes of the content of a file. The error names the file.
func ParseFile[T any](path string, parse func([]byte) (T, error)) (value T, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return value, err
	}
	if value, err = parse(text); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return value, err
}

// Get returns the value. It may be older than the files by a second.
func (r *Reloaded[T]) Get() T {
	if now := time.Since(r.created); int64(now) >= r.due.Load() && r.mu.TryLock() {
		defer r.mu.Unlock()
		r.refresh()
		r.due.Store(int64(now + reloadPeriod))
	}
	return *r.value.Load()
}

// refresh reloads the value if a file has changed, if it may have changed without a new
// modification time, or if the last reload failed: its cause, such as missing permissions, can
// disappear without a change of the file.
func (r *Reloaded[T]) refresh() {
	now := time.Now()
	present, changed := r.stat(), r.problem != ""
	for i, info := range present {
		recent := info != nil && r.readAt.Sub(info.ModTime()) < settled
		changed = changed || recent || !isSame(r.seen[i], info)
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

func (r *Reloaded[T]) stat() (infos []os.FileInfo) {
	for _, path := range r.paths {
		info, err := os.Stat(path)
		if err != nil {
			info = nil
		}
		infos = append(infos, info)
	}
	return infos
}
