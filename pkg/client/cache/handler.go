package cache

import (
	"context"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
)

// Handler has the functions that are called for changes of objects, one call at a time; each may be
// nil. The objects are shared: nobody may change them.
//
// Each handler has its own goroutine and queue. A slow handler gets the newest state of an object,
// not each state. A panic is logged, and the handler gets the next change. An update is always of
// one object: another one of the same name is a deletion and an addition. In a resync, the old and
// the new object are the same.
type Handler[T any] struct {
	OnAdd    func(object T)
	OnUpdate func(old, object T)
	OnDelete func(object T) // as it was last seen
}

// OnChange returns a handler that sees an object that is added, or as it is after a change.
func OnChange[T any](see func(T)) Handler[T] {
	return Handler[T]{OnAdd: see, OnUpdate: func(_, object T) { see(object) }}
}

// OnAny is OnChange, but also sees an object that is deleted.
func OnAny[T any](see func(T)) Handler[T] {
	handler := OnChange(see)
	handler.OnDelete = see
	return handler
}

// listener is a handler with its queue.
type listener[T clientv1.Object] struct {
	handler Handler[T]
	queue   *deltaQueue[T]
	synced  atomic.Bool
}

func newListener[T clientv1.Object](handler Handler[T]) *listener[T] {
	queue := &deltaQueue[T]{wake: make(chan struct{}, 1), pending: map[string]delta[T]{}}
	return &listener[T]{handler: handler, queue: queue}
}

func (l *listener[T]) setSynced() { l.synced.Store(true) }

// run passes the queue to the handler until the context ends.
func (l *listener[T]) run(ctx context.Context) {
	for {
		change, ok := l.queue.pop(ctx)
		if !ok {
			return
		}
		if change.hasOld && change.hasNew && change.old.GetUID() == change.new.GetUID() {
			l.updated(change.old, change.new)
			continue
		}
		if change.hasOld {
			l.show(change.old, l.handler.OnDelete)
		}
		if change.hasNew {
			l.show(change.new, l.handler.OnAdd)
		}
	}
}

func (*listener[T]) show(object T, to func(T)) {
	defer util.HandleCrash()
	if to != nil {
		to(object)
	}
}

func (l *listener[T]) updated(old, object T) {
	defer util.HandleCrash()
	if l.handler.OnUpdate != nil {
		l.handler.OnUpdate(old, object)
	}
}

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
