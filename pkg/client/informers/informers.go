// Package informers has one informer for each kind of objects that the parts of a process share.
package informers

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
)

// Informers are the informers of a server's objects, in all namespaces. An informer is made when
// it is first asked for, and runs after Run has been called. Today's is a SharedInformerFactory.
// It is safe for concurrent use.
type Informers struct {
	Pods                   func() *cache.SharedInformer[*corev1.Pod]
	Nodes                  func() *cache.SharedInformer[*corev1.Node]
	Services               func() *cache.SharedInformer[*corev1.Service]
	Endpoints              func() *cache.SharedInformer[*corev1.Endpoints]
	ReplicationControllers func() *cache.SharedInformer[*corev1.ReplicationController]

	mu       sync.Mutex // guards what follows
	informer []informer
	running  context.Context // nil before Run
}

type informer interface {
	Run(ctx context.Context)
}

// New returns the informers of a client's server. After each resync period the handlers are told
// of all objects again, unless it is 0.
func New(c *clientv1.Client, resync time.Duration) *Informers {
	i := &Informers{}
	i.Pods = once(i, "pods", resync, c.Pods().Everywhere())
	i.Nodes = once(i, "nodes", resync, c.Nodes())
	i.Services = once(i, "services", resync, c.Services().Everywhere())
	i.Endpoints = once(i, "endpoints", resync, c.Endpoints().Everywhere())
	i.ReplicationControllers = once(i, "replicationcontrollers", resync, c.ReplicationControllers().Everywhere())
	return i
}

// once returns a function that makes an informer when it is first called.
func once[T clientv1.Object](i *Informers, name string, resync time.Duration, source cache.ListerWatcher[T]) func() *cache.SharedInformer[T] {
	return sync.OnceValue(func() *cache.SharedInformer[T] {
		made := cache.NewSharedInformer(name, source, resync)
		i.add(made)
		return made
	})
}

func (i *Informers) add(made informer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.informer = append(i.informer, made)
	if i.running != nil {
		go made.Run(i.running)
	}
}

// Run lets the informers run until the context ends. It does not wait for that.
func (i *Informers) Run(ctx context.Context) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running = ctx
	for _, made := range i.informer {
		go made.Run(ctx)
	}
}
