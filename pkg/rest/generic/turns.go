package generic

import (
	"context"
	"sync"
	"time"

	"kube2014/pkg/api"
)

// turnTime bounds how long a writer waits for its turn.
const lockTimeout = 2 * time.Second

// Turns serializes the writers of an object within a process. No write is lost without
// it, because each is conditional on the version that it has read; but of many concurrent
// writers, all but one would retry again and again. It is safe for concurrent use.
type KeyLocks struct {
	mu     sync.Mutex // guards queues
	queues map[api.Key]*queue
}

type queue struct {
	turn    chan struct{} // holds a value while a writer has the turn
	writers int           // that have the turn, or wait for it
}

// take waits for the turn of an object, and returns a function that releases it. After
// turnTime, or when the context ends, the caller proceeds without the turn.
func (t *KeyLocks) lock(ctx context.Context, own api.Key) (done func()) {
	q := t.join(own)
	late := time.NewTimer(lockTimeout)
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

func (t *KeyLocks) join(own api.Key) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[own]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		if t.queues == nil {
			t.queues = map[api.Key]*queue{}
		}
		t.queues[own] = q
	}
	q.writers++
	return q
}

func (t *KeyLocks) leave(own api.Key, q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.writers--; q.writers == 0 {
		delete(t.queues, own)
	}
}
