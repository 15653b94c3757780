// Package serviceaccount keeps in each namespace what its pods need to use the server: the service account default, and
// a config map with the certificate by which they know the server. It also fills the secrets of tokens. Its controllers
// are clients of the API.
package serviceaccount

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// Config is what the controllers need.
type Config struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	// Around is put around the work on one namespace, for a trace. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

// retryPause is the pause before a retry after a conflict. By then the informer has probably seen what another client
// has written.
const retryPause = 100 * time.Millisecond

// inEachNamespace keeps one object of a name in each namespace.
type inEachNamespace[T clientv1.Object] struct {
	config     Config
	name       string // of the object
	objects    *cache.SharedInformer[T]
	namespaces *cache.Store[*corev1.Namespace]
	synced     []func() bool
	queue      *workqueue.Queue // of namespaces
	// ensure creates or updates the object, which may be missing.
	ensure func(ctx context.Context, namespace string, object T, exists bool) error
}

// newInEachNamespace returns a controller of the objects of a source that have the name.
func newInEachNamespace[T clientv1.Object](config Config, controller, name string, source cache.ListerWatcher[T]) *inEachNamespace[T] {
	e := &inEachNamespace[T]{config: config, name: name, queue: workqueue.New(controller), namespaces: config.Informers.Namespaces().Store()}
	e.objects = cache.NewSharedInformer(controller, cache.Select(source, "", "metadata.name="+name), 0)
	add := func(object T) { e.queue.Add(object.GetNamespace()) }
	addNamespace := func(namespace *corev1.Namespace) { e.queue.Add(namespace.Name) }
	e.synced = []func() bool{
		e.objects.AddHandler(cache.Handler[T]{OnUpdate: func(_, object T) { add(object) }, OnDelete: add}),
		config.Informers.Namespaces().AddHandler(cache.Handler[*corev1.Namespace]{
			OnAdd: addNamespace, OnUpdate: func(_, namespace *corev1.Namespace) { addNamespace(namespace) },
		}),
	}
	return e
}

// Run works with a number of workers until the context ends. It is called once.
func (e *inEachNamespace[T]) Run(ctx context.Context, workers int) {
	go e.objects.Run(ctx)
	if !cache.WaitForSync(ctx, append(e.synced, e.objects.HasSynced)...) {
		return
	}
	e.queue.Run(ctx, workers, workqueue.Sync(e.sync).Inside(e.config.Around))
}

// sync ensures the object of a namespace, unless that is gone or being deleted.
func (e *inEachNamespace[T]) sync(ctx context.Context, name string) error {
	namespace, exists := e.namespaces.Get(name)
	if !exists || namespace.DeletionTimestamp != nil {
		return nil
	}
	object, exists := e.objects.Store().Get(cache.KeyOf(name, e.name))
	err := e.ensure(ctx, name, object, exists)
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		e.queue.AddAfter(name, retryPause)
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause): // the namespace is gone, or about to be
	default:
		return err
	}
	return nil
}
