// Package controller has the controllers, clients of the API, in its folders. The controller manager runs those of a cluster:
// cronjob, deployment, endpoint, endpointslice, job, node and replication. The others run in each apiserver, and so does the
// mirroring controller of endpointslice. This package has what several of them share.
package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// Config is what a controller with a queue is made from. Each uses a part of it.
type Config struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	Recorder  record.EventRecorder
	// Resources returns the resources whose objects can be listed and deleted, at present.
	Resources func() []metav1.APIResource
	// Others returns the same of other servers, and the versions of those that do not say now what they serve. Nil: there are none.
	Others func() (resources []metav1.APIResource, stale []schema.GroupVersion)
	// Around is put around the work on one object, for a trace or a lease. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

// Handler returns a handler that queues the keys of what belongs to an object that is added, changed or deleted: in a change,
// to what it was, too.
func Handler[T any](queue *workqueue.Queue, keys cache.IndexFunc[T]) cache.ResourceEventHandler[T] {
	return EachVersion(func(object T) {
		for _, key := range keys(object) {
			queue.Add(key)
		}
	})
}

// EachVersion returns a handler that sees an object that is added, changed or deleted: in a change, what it was, too.
func EachVersion[T any](see func(T)) cache.ResourceEventHandler[T] {
	return cache.ResourceEventHandler[T]{OnAdd: see, OnUpdate: func(old, object T) { see(old); see(object) }, OnDelete: see}
}

// WithoutResyncs returns a handler that sees no resyncs: nothing has changed in them.
func WithoutResyncs[T comparable](handler cache.ResourceEventHandler[T]) cache.ResourceEventHandler[T] {
	update := handler.OnUpdate
	handler.OnUpdate = func(old, object T) {
		if old != object {
			update(old, object)
		}
	}
	return handler
}

// OwnKey is a cache.IndexFunc for a Handler: the key of an object itself.
func OwnKey[T metav1.Object](object T) []string { return []string{cache.Key(object)} }
