package cache

import (
	"context"
	"sync/atomic"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
)

// Handler is told what happens to objects, one call at a time; what it has no function for is not
// told. The objects are shared: nobody may change them.
//
// Each handler has a goroutine and a queue of its own. One that is slow is told the newest state
// of an object, not each state; one that panics, which is logged, is told the next change. An
// update is always of one object: another one of the same name is a deletion and an addition. In
// a resync, old and new object are the same.
type Handler[T any] struct {
	OnAdd    func(object T)
	OnUpdate func(old, object T)
	OnDelete func(object T) // as it was last seen
}

// listener is a handler with its queue.
type listener[T clientv1.Object] struct {
	handler Handler[T]
	queue   *deltaQueue[T]
	synced  atomic.Bool
}

func newListener[T clientv1.Object](handler Handler[T]) *listener[T] {
	return &listener[T]{handler: handler, queue: newDeltaQueue[T]()}
}

func (l *listener[T]) setSynced() { l.synced.Store(true) }

// run tells the handler what is in the queue until the context ends.
func (l *listener[T]) run(ctx context.Context) {
	for {
		change, ok := l.queue.pop(ctx)
		if !ok {
			return
		}
		replaced := change.hasOld && change.hasNew && change.old.GetUID() != change.new.GetUID()
		switch {
		case replaced:
			l.call(func() { l.deleted(change.old) })
			l.call(func() { l.added(change.new) })
		case !change.hasOld:
			l.call(func() { l.added(change.new) })
		case !change.hasNew:
			l.call(func() { l.deleted(change.old) })
		default:
			l.call(func() { l.updated(change.old, change.new) })
		}
	}
}

func (l *listener[T]) call(handle func()) {
	defer util.HandleCrash()
	handle()
}

func (l *listener[T]) added(object T) {
	if l.handler.OnAdd != nil {
		l.handler.OnAdd(object)
	}
}

func (l *listener[T]) updated(old, object T) {
	if l.handler.OnUpdate != nil {
		l.handler.OnUpdate(old, object)
	}
}

func (l *listener[T]) deleted(object T) {
	if l.handler.OnDelete != nil {
		l.handler.OnDelete(object)
	}
}
