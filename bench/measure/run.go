package measure

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Run is one run of a program that measures. It is safe for concurrent use.
type Run struct {
	Dir string // for files; deleted at the end

	mu      sync.Mutex // guards what follows
	closers []func()
	over    bool // nothing is to be started any more
}

// Within calls f with a run, and closes the run when f returns. If f has not returned
// after the limit, or the process is interrupted, the run is closed and the process ends.
func Within(limit time.Duration, f func(*Run) error) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	r := &Run{Dir: dir}
	end := sync.OnceFunc(func() {
		r.finish()
		os.RemoveAll(dir)
	})
	defer end()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	overdue, done := time.After(limit), make(chan struct{})
	defer close(done)
	go func() {
		why := fmt.Errorf("not done after %v", limit)
		select {
		case <-overdue:
		case s := <-interrupted:
			why = fmt.Errorf("ended by a signal: %v", s)
		case <-done:
			return
		}
		end()
		Exit(why)
	}()
	return f(r)
}

// AtEnd remembers how to end something that was started. It is ended at once if the run is
// over.
func (r *Run) AtEnd(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		f()
		return
	}
	r.closers = append(r.closers, f)
}

func (r *Run) finish() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.Close()
}

// Close ends what was started since the last Close, the latest first.
func (r *Run) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, end := range slices.Backward(r.closers) {
		end()
	}
	r.closers = nil
}

// Exit ends the process, with the error on standard error if there is one.
func Exit(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
	os.Exit(0)
}
