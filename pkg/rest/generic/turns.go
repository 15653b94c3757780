package generic

import (
	"context"
	"errors"
	"sync"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
)

// turnTime bounds how long a writer waits for its turn.
const turnTime = 2 * time.Second

// Turns lets the writers of an object go one after the other within a process. Nothing is
// lost without it, as each write names the version that it has read; but of many writers
// all but one would begin again and again. It is safe for concurrent use.
type Turns struct {
	mu     sync.Mutex // guards queues
	queues map[turn]*queue
}

type turn struct {
	kind api.Kind
	id   string
}

type queue struct {
	turn    chan struct{} // holds a value while somebody has the turn
	writers int           // that have the turn, or wait for it
}

// take waits for the turn of an object, and returns what gives it back. Who has waited too
// long, or is not wanted any more, goes on without it.
func (t *Turns) take(ctx context.Context, kind api.Kind, id string) (done func()) {
	own := turn{kind, id}
	q := t.join(own)
	late := time.NewTimer(turnTime)
	defer late.Stop()
	select {
	case q.turn <- struct{}{}:
		return func() {
			<-q.turn
			t.leave(own, q)
		}
	case <-late.C:
	case <-ctx.Done():
	}
	return func() { t.leave(own, q) }
}

func (t *Turns) join(own turn) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[own]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		if t.queues == nil {
			t.queues = map[turn]*queue{}
		}
		t.queues[own] = q
	}
	q.writers++
	return q
}

func (t *Turns) leave(own turn, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.writers--; q.writers == 0 {
		delete(t.queues, own)
	}
}

// errLost ends the first attempt of a writer that somebody else was before.
var errLost = errors.New("somebody else has changed the object first")

// writer is somebody who changes an object. It is for one goroutine.
type writer struct {
	begin func() (done func())
	done  func() // gives the turn back, nil before it is taken
}

// writer returns one who begins at once in its turn. If plugins are asked, it does so without: they may
// take long, and may change the object themselves; only after another one was first, it takes its turn.
func (s *Store[T]) writer(ctx context.Context, name string, options rest.WriteOptions) *writer {
	w := &writer{begin: func() func() { return s.Turns.take(ctx, s.Internal, name) }}
	if options.Admission == nil {
		w.take()
	}
	return w
}

func (w *writer) has() bool { return w.done != nil }

func (w *writer) take() {
	if w.done == nil {
		w.done = w.begin()
	}
}

func (w *writer) end() {
	if w.done != nil {
		w.done()
	}
}
