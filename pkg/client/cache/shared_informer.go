package cache

import (
	"context"
	"sync"
	"time"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
)

// SharedInformer has a copy of the objects of a kind, and calls any number of handlers for changes.
// It is safe for concurrent use.
type SharedInformer[T clientv1.Object] struct {
	name   string
	source ListerWatcher[T]
	resync time.Duration
	store  *Store[T]

	mu        sync.Mutex // guards what follows, and that all see the changes of the store in one order
	listeners []*listener[T]
	running   context.Context // nil before Run
	version   string
	synced    bool
}

// NewSharedInformer returns an informer of the objects of a source; the name is for the log. After
// each resync period, unless it is 0, all handlers get all objects again.
func NewSharedInformer[T clientv1.Object](name string, source ListerWatcher[T], resync time.Duration) *SharedInformer[T] {
	return &SharedInformer[T]{name: name, source: source, resync: resync, store: NewStore[T]()}
}

// Store returns the copy.
func (s *SharedInformer[T]) Store() *Store[T] { return s.store }

// HasSynced reports whether the objects have been listed once.
func (s *SharedInformer[T]) HasSynced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced
}

// Version returns the resourceVersion of the copy, which has all changes up to that. It is empty
// before the first list.
func (s *SharedInformer[T]) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// AddEventHandler adds a handler. It gets the present objects, and then all changes. The function that
// AddEventHandler returns reports whether the handler has got all objects of the first list.
func (s *SharedInformer[T]) AddEventHandler(handler ResourceEventHandler[T]) (hasSynced func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := newListener(handler)
	for _, object := range s.store.List() {
		added.queue.push(Key(object), delta[T]{new: object, hasNew: true})
	}
	if s.synced {
		added.queue.mark(added.setSynced)
	}
	s.listeners = append(s.listeners, added)
	if s.running != nil {
		go added.run(s.running)
	}
	return added.synced.Load
}

// Run updates the copy until the context ends.
func (s *SharedInformer[T]) Run(ctx context.Context) {
	s.mu.Lock()
	s.running = ctx
	for _, listener := range s.listeners {
		go listener.run(ctx)
	}
	s.mu.Unlock()
	if s.resync > 0 {
		go s.resyncForever(ctx)
	}
	Reflect(ctx, s.name, s.source, informerSink[T]{s})
}

func (s *SharedInformer[T]) resyncForever(ctx context.Context) {
	ticker := time.NewTicker(s.resync)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.resyncOnce()
		}
	}
}

// resyncOnce passes all objects to all handlers.
func (s *SharedInformer[T]) resyncOnce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, object := range s.store.List() {
		s.distribute(Key(object), delta[T]{object, object, true, true})
	}
}

// distribute passes a change to all handlers.
func (s *SharedInformer[T]) distribute(key string, change delta[T]) {
	for _, listener := range s.listeners {
		listener.queue.push(key, change)
	}
}

// informerSink implements Sink.
type informerSink[T clientv1.Object] struct{ *SharedInformer[T] }

func (s informerSink[T]) Replace(objects []T, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := make(map[string]bool, len(objects))
	for _, object := range objects {
		there[Key(object)] = true
		s.setLocked(object)
	}
	for _, object := range s.store.List() {
		if !there[Key(object)] {
			s.removeLocked(object)
		}
	}
	s.version = version
	if !s.synced {
		s.synced = true
		for _, listener := range s.listeners {
			listener.queue.mark(listener.setSynced)
		}
	}
}

func (s informerSink[T]) Set(object T, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(object)
	s.version = version
}

func (s informerSink[T]) Remove(object T, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLocked(object)
	s.version = version
}

func (s informerSink[T]) Reached(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// setLocked stores an object. Handlers do not get one that has not changed.
func (s *SharedInformer[T]) setLocked(object T) {
	key := Key(object)
	old, existed := s.store.set(key, object)
	if existed && old.GetUID() == object.GetUID() && old.GetResourceVersion() == object.GetResourceVersion() {
		return
	}
	s.distribute(key, delta[T]{old, object, existed, true})
}

func (s *SharedInformer[T]) removeLocked(object T) {
	key := Key(object)
	if _, existed := s.store.remove(key); existed {
		s.distribute(key, delta[T]{old: object, hasOld: true})
	}
}

// syncPoll is the period in which WaitForSync calls its functions.
const syncPoll = 50 * time.Millisecond

// WaitForSync waits until all functions, such as SharedInformer.HasSynced, return true. It returns
// false if the context ends first.
func WaitForSync(ctx context.Context, hasSynced ...func() bool) bool {
	for _, synced := range hasSynced {
		for !synced() {
			if !util.Sleep(ctx, syncPoll) {
				return false
			}
		}
	}
	return true
}
