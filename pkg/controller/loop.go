package controller

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// Loop syncs the keys that a controller's handlers queue. A sync that ends with ErrStale is retried after a StalePause.
type Loop struct {
	Config
	Queue *workqueue.Queue

	name   string
	sync   workqueue.Sync
	own    []interface{ Run(context.Context) } // informers that nobody else runs
	synced []func() bool
}

// NewLoop returns a loop. Its name is for the log.
func NewLoop(config Config, name string, sync workqueue.Sync) *Loop {
	return &Loop{Config: config, Queue: workqueue.New(name), name: name, sync: sync}
}

// Own returns an informer that runs with a loop.
func Own[T clientv1.Object](l *Loop, source cache.ListerWatcher[T], resync time.Duration) *cache.SharedInformer[T] {
	informer := cache.NewSharedInformer(l.name, source, resync)
	l.own = append(l.own, informer)
	return informer
}

// Handle adds a handler to an informer. A loop waits until it has seen what there is.
func Handle[T clientv1.Object](l *Loop, informer *cache.SharedInformer[T], handler cache.ResourceEventHandler[T]) {
	l.WaitFor(informer.AddEventHandler(handler))
}

// WaitFor lets the loop begin only when a function returns true.
func (l *Loop) WaitFor(synced func() bool) { l.synced = append(l.synced, synced) }

// Run syncs keys with a number of workers until the context ends, after all handlers have seen what there is. It is called once.
func (l *Loop) Run(ctx context.Context, workers int) {
	for _, informer := range l.own {
		go informer.Run(ctx)
	}
	if !cache.WaitForSync(ctx, l.synced...) {
		return
	}
	retried := func(ctx context.Context, key string) error {
		err := l.sync(ctx, key)
		if errors.Is(err, ErrStale) {
			l.Queue.AddAfter(key, StalePause)
			return nil
		}
		return err
	}
	l.Queue.Run(ctx, workers, workqueue.Sync(retried).Inside(l.Around))
}

// Outrun handles the error of a write. If another client was faster, it queues the key after a pause; by then the informer has
// probably seen the other's write. It ignores that the object or its namespace is gone.
func (l *Loop) Outrun(key string, pause time.Duration, err error) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		l.Queue.AddAfter(key, pause)
		return nil
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	}
	return err
}

// StalePause is the pause before a retry with a stale copy, unless a change comes first.
const StalePause = time.Second

// ErrStale reports that the server has something newer than what was decided on. The sync is retried after a StalePause, and
// nothing is logged.
var ErrStale = errors.New("the copy is behind")

// OrStale returns ErrStale for an error that says that the server has something else than what was expected, and any other
// error as it is.
func OrStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ErrStale
	}
	return err
}

// Confirm returns an object as the server has it. The error is ErrStale if it is gone, is being deleted, or is another one of
// the same name.
func Confirm[T clientv1.Object](ctx context.Context, resource clientv1.Resource[T], object T) (current T, err error) {
	current, err = resource.Get(ctx, object.GetName())
	if err == nil && (current.GetUID() != object.GetUID() || current.GetDeletionTimestamp() != nil) {
		err = ErrStale
	}
	return current, OrStale(err)
}

// ConfirmVersion checks that the server has an object in the version that was read. The error is ErrStale if it has not.
func ConfirmVersion[T clientv1.Object](ctx context.Context, resource clientv1.Resource[T], object T) error {
	current, err := resource.Get(ctx, object.GetName())
	if err == nil && (current.GetUID() != object.GetUID() || current.GetResourceVersion() != object.GetResourceVersion()) {
		return ErrStale
	}
	return OrStale(err)
}
