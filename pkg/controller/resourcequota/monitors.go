package resourcequota

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/quota"
	"kube2014/pkg/util"
)

// monitors follow the resources that quotas name. They are safe for concurrent use.
type monitors struct {
	controller *ResourceQuotaController
	ctx        context.Context // of all

	mu  sync.Mutex // guards all
	all map[string]*monitor
}

// monitor follows the objects of a resource, of which it keeps nothing. It implements cache.Sink.
type monitor struct {
	controller *ResourceQuotaController
	resource   schema.GroupResource
	stop       context.CancelFunc // nil while the server does not have the resource
}

// follow begins to follow what a quota names.
func (m *monitors) follow(of *corev1.ResourceQuota) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range of.Spec.Hard {
		resource := quota.ResourceOf(name)
		if key := resource.String(); !resource.Empty() && !quota.Ignores(resource) && m.all[key] == nil {
			m.all[key] = &monitor{controller: m.controller, resource: resource}
			m.checkLocked(m.all[key])
		}
	}
}

// checkPeriod is how often it is checked whether the server still has the resources, or has them now.
const checkPeriod = time.Second

func (m *monitors) checkForever(ctx context.Context) {
	for util.Sleep(ctx, checkPeriod) {
		m.mu.Lock()
		for _, one := range m.all {
			m.checkLocked(one)
		}
		m.mu.Unlock()
	}
}

// checkLocked starts or stops a monitor if the server has its resource now, or no longer.
func (m *monitors) checkLocked(one *monitor) {
	at, exists := m.controller.find(one.resource)
	switch {
	case exists && one.stop == nil:
		var ctx context.Context
		ctx, one.stop = context.WithCancel(m.ctx)
		go cache.Reflect(ctx, "resource quota controller: "+one.resource.String(), m.controller.Client.Metadata(at), cache.Sink[*metav1.PartialObjectMetadata](one))
	case !exists && one.stop != nil:
		one.stop()
		one.stop = nil
		one.enqueue("", deletionPause)
	}
}

// enqueue lets the quotas in a namespace that name the resource be counted after a pause; "" means all namespaces.
func (m *monitor) enqueue(namespace string, pause time.Duration) {
	quotas := m.controller.quotas.Store()
	some := quotas.ByIndex(cache.NamespaceIndex, namespace)
	if namespace == "" {
		some = quotas.List()
	}
	for _, one := range some {
		if len(quota.Names(one, m.resource)) > 0 {
			m.controller.Queue.AddAfter(cache.Key(one), pause)
		}
	}
}

// Replace implements cache.Sink. Deletions may have been missed.
func (m *monitor) Replace([]*metav1.PartialObjectMetadata, string) { m.enqueue("", deletionPause) }

// Set implements cache.Sink.
func (m *monitor) Set(object *metav1.PartialObjectMetadata, _ string) {
	m.enqueue(object.Namespace, changePause)
}

// Remove implements cache.Sink.
func (m *monitor) Remove(object *metav1.PartialObjectMetadata, _ string) {
	m.enqueue(object.Namespace, deletionPause)
}

// Reached implements cache.Sink.
func (*monitor) Reached(string) {}
