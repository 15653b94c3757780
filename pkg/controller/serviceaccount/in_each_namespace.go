// Package serviceaccount keeps in each namespace what its pods need to use the server: the service account default, and
// a config map with the certificate by which they know the server. It also fills the secrets of tokens. Its controllers
// are clients of the API.
package serviceaccount

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
)

// retryPause is the pause before a retry after a conflict.
const retryPause = 100 * time.Millisecond

// inEachNamespace keeps one object of a name in each namespace.
type inEachNamespace[T clientv1.Object] struct {
	*controller.Loop        // over namespaces
	name             string // of the object
	objects          *cache.SharedInformer[T]
	namespaces       *cache.Store[*corev1.Namespace]
	// ensure creates or updates the object, which may be missing.
	ensure func(ctx context.Context, namespace string, object T, exists bool) error
}

// newInEachNamespace returns a controller of the objects of a source that have the name.
func newInEachNamespace[T clientv1.Object](config controller.Config, loop, name string, source cache.ListerWatcher[T]) *inEachNamespace[T] {
	e := &inEachNamespace[T]{name: name, namespaces: config.Informers.Namespaces().Store()}
	e.Loop = controller.NewLoop(config, loop, e.sync)
	e.objects = controller.Own(e.Loop, cache.Select(source, "", "metadata.name="+name), 0)
	add := func(object T) { e.Queue.Add(object.GetNamespace()) }
	controller.Handle(e.Loop, e.objects, cache.ResourceEventHandler[T]{OnUpdate: func(_, object T) { add(object) }, OnDelete: add})
	controller.Handle(e.Loop, config.Informers.Namespaces(), cache.OnChange(func(namespace *corev1.Namespace) { e.Queue.Add(namespace.Name) }))
	return e
}

// sync ensures the object of a namespace, unless that is gone or being deleted.
func (e *inEachNamespace[T]) sync(ctx context.Context, name string) error {
	namespace, exists := e.namespaces.Get(name)
	if !exists || namespace.DeletionTimestamp != nil {
		return nil
	}
	object, exists := e.objects.Store().Get(cache.KeyOf(name, e.name))
	return e.Outrun(name, retryPause, e.ensure(ctx, name, object, exists))
}
