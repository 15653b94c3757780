// Package informers has one informer for each kind of objects that the parts of a process share.
package informers

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
)

// Informers are the informers of a server's objects, in all namespaces. An informer is created at
// its first use, and runs after Run has been called. Today's is a SharedInformerFactory. It is safe
// for concurrent use.
type Informers struct {
	Pods                   func() *cache.SharedInformer[*corev1.Pod]
	Nodes                  func() *cache.SharedInformer[*corev1.Node]
	Services               func() *cache.SharedInformer[*corev1.Service]
	Endpoints              func() *cache.SharedInformer[*corev1.Endpoints]
	EndpointSlices         func() *cache.SharedInformer[*discoveryv1.EndpointSlice]
	Namespaces             func() *cache.SharedInformer[*corev1.Namespace]
	ReplicationControllers func() *cache.SharedInformer[*corev1.ReplicationController]
	ReplicaSets            func() *cache.SharedInformer[*appsv1.ReplicaSet]
	Deployments            func() *cache.SharedInformer[*appsv1.Deployment]
	Jobs                   func() *cache.SharedInformer[*batchv1.Job]
	CronJobs               func() *cache.SharedInformer[*batchv1.CronJob]

	mu      sync.Mutex // guards what follows
	created []informer
	running context.Context // nil before Run
}

type informer interface {
	Run(ctx context.Context)
}

// New returns the informers of a client's server. After each resync period, unless it is 0, the
// handlers get all objects again.
func New(c *clientv1.Client, resync time.Duration) *Informers {
	i := &Informers{}
	i.Pods = once(i, "pods", resync, c.Pods().Everywhere())
	i.Nodes = once(i, "nodes", resync, c.Nodes())
	i.Services = once(i, "services", resync, c.Services().Everywhere())
	i.Endpoints = once(i, "endpoints", resync, c.Endpoints().Everywhere())
	i.EndpointSlices = once(i, "endpointslices", resync, c.EndpointSlices().Everywhere())
	i.Namespaces = once(i, "namespaces", resync, c.Namespaces())
	i.ReplicationControllers = once(i, "replicationcontrollers", resync, c.ReplicationControllers().Everywhere())
	i.ReplicaSets = once(i, "replicasets", resync, c.ReplicaSets().Everywhere())
	i.Deployments = once(i, "deployments", resync, c.Deployments().Everywhere())
	i.Jobs = once(i, "jobs", resync, c.Jobs().Everywhere())
	i.CronJobs = once(i, "cronjobs", resync, c.CronJobs().Everywhere())
	return i
}

// once returns a function that creates an informer at the first call.
func once[T clientv1.Object](i *Informers, name string, resync time.Duration, source cache.ListerWatcher[T]) func() *cache.SharedInformer[T] {
	return sync.OnceValue(func() *cache.SharedInformer[T] {
		informer := cache.NewSharedInformer(name, source, resync)
		i.add(informer)
		return informer
	})
}

func (i *Informers) add(informer informer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.created = append(i.created, informer)
	if i.running != nil {
		go informer.Run(i.running)
	}
}

// Run starts the informers. They run until the context ends.
func (i *Informers) Run(ctx context.Context) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running = ctx
	for _, informer := range i.created {
		go informer.Run(ctx)
	}
}
