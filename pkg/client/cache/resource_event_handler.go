package cache

import (
	"context"
	"sync/atomic"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
)

// ResourceEventHandler has the functions that are called for changes of objects, one call at a time; each may be
// nil. The objects are shared: nobody may change them.
//
// Each handler has its own goroutine and queue. A slow handler gets the newest state of an object,
// not each state. A panic is logged, and the handler gets the next change. An update is always of
// one object: another one of the same name is a deletion and an addition. In a resync, the old and
// the new object are the same.
type ResourceEventHandler[T any] struct {
	OnAdd    func(object T)
	OnUpdate func(old, object T)
	OnDelete func(object T) // as it was last seen
}

// OnChange returns a handler that sees an object that is added, or as it is after a change.
func OnChange[T any](see func(T)) ResourceEventHandler[T] {
	return ResourceEventHandler[T]{OnAdd: see, OnUpdate: func(_, object T) { see(object) }}
}

// OnAny is OnChange, but also sees an object that is deleted.
func OnAny[T any](see func(T)) ResourceEventHandler[T] {
	handler := OnChange(see)
	handler.OnDelete = see
	return handler
}

// listener is a handler with its queue.
type listener[T clientv1.Object] struct {
	handler ResourceEventHandler[T]
	queue   *deltaQueue[T]
	synced  atomic.Bool
}

func newListener[T clientv1.Object](handler ResourceEventHandler[T]) *listener[T] {
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
