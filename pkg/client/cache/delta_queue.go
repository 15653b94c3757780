package cache

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// delta is a change of the object of a key: old is what the handler got last, new is the present
// object. Without old it was added, without new it was deleted.
type delta[T any] struct {
	old, new       T
	hasOld, hasNew bool
}

// deltaQueue has the pending changes of a handler: one delta for each key, in the order of their
// first changes. A slow handler gets fewer changes, with the newest objects; the queue is never
// longer than the number of objects. Today's is a DeltaFIFO.
type deltaQueue[T metav1.Object] struct {
	wake chan struct{} // has a value if there may be deltas

	mu      sync.Mutex // guards what follows
	order   []string   // keys; an empty one stands for what has been marked
	pending map[string]delta[T]
	marked  []func()
}

// push adds what has happened to an object.
func (q *deltaQueue[T]) push(key string, next delta[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, isWaiting := q.pending[key]
	if isWaiting {
		next.old, next.hasOld = waiting.old, waiting.hasOld
	} else {
		q.order = append(q.order, key)
	}
	q.pending[key] = next
	q.note()
}

// mark adds a function that is called when all earlier changes have been handled.
func (q *deltaQueue[T]) mark(reached func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order, q.marked = append(q.order, ""), append(q.marked, reached)
	q.note()
}

func (q *deltaQueue[T]) note() {
	select {
	case q.wake <- struct{}{}:
	default: // the channel has a value already
	}
}

// pop waits for the next delta. It returns false when the context has ended.
func (q *deltaQueue[T]) pop(ctx context.Context) (delta[T], bool) {
	for ctx.Err() == nil {
		if next, ok := q.next(); ok {
			return next, true
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return delta[T]{}, false
}

// next returns the next delta, if there is one. It skips objects that were added and deleted.
func (q *deltaQueue[T]) next() (delta[T], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.order) > 0 {
		key := q.order[0]
		q.order = q.order[1:]
		if key == "" {
			q.marked[0]()
			q.marked = q.marked[1:]
			continue
		}
		next := q.pending[key]
		delete(q.pending, key)
		if next.hasOld || next.hasNew {
			return next, true
		}
	}
	return delta[T]{}, false
}
