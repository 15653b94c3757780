// Package namespace deletes what is in a namespace that is being deleted, and then the namespace, as a client of the API.
package namespace

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/util/workqueue"
)

const (
	// While something remains in a namespace, it is looked at again after a pause that begins with minPause and
	// doubles up to maxPause: a pod may be ending, or a finalizer may be about to go.
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// Config is what a NamespaceController needs.
type Config struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	// Resources returns the resources whose objects can be listed and deleted, at present.
	Resources func() []metav1.APIResource
	// Others returns the same of other servers, and the versions of those that do not say now what they serve. Nil: there are none.
	Others func() (resources []metav1.APIResource, stale []schema.GroupVersion)
	// Grace is the time from the deletion of a namespace until what is in it is deleted. Until then, a client may finalize
	// the namespace itself. Today's controller waits 5 seconds.
	Grace time.Duration
	// Around is put around the work on one namespace, for a trace. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

// NamespaceController empties and removes the namespaces that are being deleted. Its work can be interrupted at any
// moment and repeated, also by several controllers at once.
type NamespaceController struct {
	*controller.Loop // over namespaces
	grace            time.Duration
}

// NewNamespaceController returns a controller that has its handler at the informers. They must be run by the caller.
func NewNamespaceController(config Config) *NamespaceController {
	n := &NamespaceController{grace: config.Grace}
	n.Loop = controller.NewLoop(controller.Config{Client: config.Client, Resources: config.Resources, Others: config.Others, Around: config.Around},
		"namespace controller", n.sync)
	controller.Handle(n.Loop, config.Informers.Namespaces(), cache.ResourceEventHandler[*corev1.Namespace]{
		OnAdd: n.changed, OnUpdate: func(old, namespace *corev1.Namespace) {
			if old.DeletionTimestamp == nil || old == namespace { // its own changes of the status are no reason to look again
				n.changed(namespace)
			}
		},
	})
	return n
}

func (n *NamespaceController) changed(namespace *corev1.Namespace) {
	if namespace.DeletionTimestamp != nil {
		n.Queue.AddAfter(namespace.Name, n.grace)
	}
}

// sync deletes what is in a namespace, and the namespace when nothing is left.
func (n *NamespaceController) sync(ctx context.Context, name string) error {
	namespace, err := n.Client.Namespaces().Get(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case namespace.DeletionTimestamp == nil, len(namespace.Spec.Finalizers) == 0:
		return nil
	}
	left := n.deleteAll(ctx, name)
	if namespace, err = n.report(ctx, namespace, left); err == nil && left.isEmpty() {
		namespace.Spec.Finalizers = slices.DeleteFunc(namespace.Spec.Finalizers, func(finalizer corev1.FinalizerName) bool { return finalizer == corev1.FinalizerKubernetes })
		_, err = n.Client.Namespaces().Finalize(ctx, namespace)
	}
	switch {
	case apierrors.IsNotFound(err), err == nil && left.isEmpty(): // another controller may have been faster
		return nil
	case err == nil, apierrors.IsConflict(err):
		n.Queue.AddAfter(name, pauseAfter(namespace, time.Now()))
		return nil
	}
	return err
}

// pauseAfter returns the pause until a namespace is looked at again: as long as its deletion has taken so far.
func pauseAfter(namespace *corev1.Namespace, now time.Time) time.Duration {
	if namespace == nil {
		return minPause
	}
	return min(max(now.Sub(namespace.DeletionTimestamp.Time)/2, minPause), maxPause)
}

// report writes the conditions of a namespace if they have changed, and returns it as it is then.
func (n *NamespaceController) report(ctx context.Context, namespace *corev1.Namespace, left *remains) (*corev1.Namespace, error) {
	if !setConditions(&namespace.Status, left, time.Now()) {
		return namespace, nil
	}
	return n.Client.Namespaces().UpdateStatus(ctx, namespace)
}
