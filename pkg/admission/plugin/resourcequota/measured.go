package resourcequota

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/quota"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// measures remembers what stored objects use, because to decode and to add up all pods of a namespace for each new one
// takes 30 µs a pod. It is safe for concurrent use.
type measures struct {
	mu  sync.Mutex // guards all
	all map[measuredKey]*measured
}

type measuredKey struct{ quota, counted api.Key }

// measured is what objects of a kind used of a quota with this spec.
type measured struct {
	mu    sync.Mutex // guards what follows
	spec  corev1.ResourceQuotaSpec
	usage map[*storage.Object]corev1.ResourceList // nil for an object that does not count
	sum   corev1.ResourceList
}

// of returns what is remembered of a key. With a new key, that of quotas that are gone is forgotten.
func (m *measures) of(key measuredKey, isGone func(quota api.Key) bool) *measured {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[key] == nil {
		maps.DeleteFunc(m.all, func(key measuredKey, _ *measured) bool { return isGone(key.quota) })
		if m.all == nil {
			m.all = map[measuredKey]*measured{}
		}
		m.all[key] = &measured{}
	}
	return m.all[key]
}

// measure returns what the stored objects of a resource use of a quota together.
func (p *Plugin) measure(limits *corev1.ResourceQuota, row *rest.Resource, list []*storage.Object) (corev1.ResourceList, error) {
	key := measuredKey{api.Key{Kind: quota.Kind, Namespace: limits.Namespace, ID: limits.Name}, api.Key{Kind: row.StoredKind}}
	m := p.measures.of(key, func(of api.Key) bool {
		_, err := p.objects.Cached().Get(of)
		return err != nil
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.usage == nil || !equality.Semantic.DeepEqual(m.spec, limits.Spec) {
		m.spec, m.usage, m.sum = limits.Spec, map[*storage.Object]corev1.ResourceList{}, corev1.ResourceList{}
	}
	passing, remembered := corev1.ResourceList{}, 0
	for _, stored := range list {
		if _, isKnown := m.usage[stored]; isKnown {
			remembered++
			continue
		}
		usage, isLasting, err := p.usageOf(limits, row, stored)
		switch {
		case err != nil:
			return nil, err
		case !isLasting:
			defaults.Add(passing, usage)
		default:
			m.usage[stored] = usage
			defaults.Add(m.sum, usage)
			remembered++
		}
	}
	if len(m.usage) > remembered {
		m.keepOnly(list)
	}
	sum := m.sum.DeepCopy()
	defaults.Add(sum, passing)
	return sum, nil
}

// keepOnly forgets the objects that are not in a list.
func (m *measured) keepOnly(list []*storage.Object) {
	before := m.usage
	m.usage = make(map[*storage.Object]corev1.ResourceList, len(list))
	for _, stored := range list {
		if usage, isKnown := before[stored]; isKnown {
			m.usage[stored] = usage
			delete(before, stored)
		}
	}
	for _, usage := range before {
		for name, gone := range usage {
			sum := m.sum[name]
			sum.Sub(gone)
			m.sum[name] = sum
		}
	}
}

// usageOf returns what an object uses of a quota, nil if it does not count. It lasts unless it depends on the time, as
// that of a pod that is being deleted.
func (p *Plugin) usageOf(limits *corev1.ResourceQuota, row *rest.Resource, stored *storage.Object) (usage corev1.ResourceList, isLasting bool, err error) {
	var object runtime.Object // of a kind without a Go type only the number counts: a webhook may have to convert it
	if row.Untyped.Codec == nil {
		if object, err = row.Codec().ToVersioned(stored.Object); err != nil {
			return nil, false, err
		}
	}
	if quota.Covers(limits, row.GroupResource(), object) {
		usage = quota.Usage(row.GroupResource(), object, p.Now())
	}
	pod, isPod := object.(*corev1.Pod)
	return usage, !isPod || pod.DeletionTimestamp == nil, nil
}
