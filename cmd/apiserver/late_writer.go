package main

import (
	"io"
	"sync"
	"time"
)

const (
	lateness   = 10 * time.Millisecond
	maxPending = 64 << 10
)

// lateWriter buffers what is written for 10 milliseconds, then writes it as one
// piece: a write for each line of the log would make a GET about a twentieth slower.
// It is safe for concurrent use.
type lateWriter struct {
	out io.Writer

	mu      sync.Mutex // guards what follows
	pending []byte
	due     bool // flush will be called
}

// Write never fails: if the log cannot be written, nothing can report it.
func (w *lateWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, text...)
	if len(w.pending) >= maxPending {
		w.flushLocked()
	} else if !w.due {
		w.due = true
		time.AfterFunc(lateness, w.flush)
	}
	return len(text), nil
}

// flush writes what is in the buffer.
func (w *lateWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due = false
	w.flushLocked()
}

func (w *lateWriter) flushLocked() {
	if len(w.pending) > 0 {
		_, _ = w.out.Write(w.pending) // as in Write
	}
	w.pending = w.pending[:0]
}
