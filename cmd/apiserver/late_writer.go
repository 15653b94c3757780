package main

import (
	"io"
	"sync"
	"time"
)

const (
	lateness   = 10 * time.Millisecond
	maxPending = 1 << 20
)

// lateWriter gathers what is written for a moment, and passes it on in one piece:
// under load, a line of the log for each request would cost more than the rest of
// a GET. It is safe for concurrent use.
type lateWriter struct {
	out io.Writer

	mu      sync.Mutex // guards what follows
	pending []byte
	due     bool // flush will be called

	writing sync.Mutex // held while out is written to: the pieces keep their order
	spare   []byte     // guarded by writing: empty, the next pending
}

// Write never fails: nobody is told when a log cannot be written.
func (w *lateWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	w.pending = append(w.pending, text...)
	full := len(w.pending) >= maxPending
	if !w.due {
		w.due = true
		time.AfterFunc(lateness, w.flush)
	}
	w.mu.Unlock()
	if full {
		w.flush()
	}
	return len(text), nil
}

// flush passes on what was written until now. Its buffer is the next but one, if
// it has not grown too large.
func (w *lateWriter) flush() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	text := w.pending
	w.pending, w.spare, w.due = w.spare, nil, false
	w.mu.Unlock()
	if len(text) > 0 {
		_, _ = w.out.Write(text) // there is no other place to tell it
	}
	if cap(text) <= maxPending {
		w.spare = text[:0]
	}
}
