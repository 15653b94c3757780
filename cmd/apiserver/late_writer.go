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

// lateWriter buffers what is written for 10 milliseconds, then writes it as one
// piece: a write for each line of the log would cost more than the rest of a
// GET. It is safe for concurrent use.
type lateWriter struct {
	out io.Writer

	mu      sync.Mutex // guards what follows
	pending []byte
	due     bool // flush will be called

	writing sync.Mutex // held while out is written to: the pieces keep their order
	spare   []byte     // guarded by writing: empty, the next pending
}

// Write never fails: if the log cannot be written, nothing can report it.
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

// flush writes what is in the buffer. Two buffers take turns; one that has grown
// too large is dropped.
func (w *lateWriter) flush() {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	text := w.pending
	w.pending, w.spare, w.due = w.spare, nil, false
	w.mu.Unlock()
	if len(text) > 0 {
		_, _ = w.out.Write(text) // as in Write
	}
	if cap(text) <= maxPending {
		w.spare = text[:0]
	}
}
