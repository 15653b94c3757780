package resourcequota

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/quota"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// measures remembers what stored objects use, because decoding all pods of a namespace for each new one takes 30 µs a
// pod. It is safe for concurrent use.
type measures struct {
	mu  sync.Mutex // guards all
	all map[measuredKey]*measured
}

type measuredKey struct{ quota, counted api.Key }

// measured is what the objects of a kind use of a quota with this spec. It does not change.
type measured struct {
	spec  corev1.ResourceQuotaSpec
	usage map[*storage.Object]corev1.ResourceList // nil for an object that does not count
}

// before returns what the last measure has found.
func (m *measures) before(key measuredKey, spec corev1.ResourceQuotaSpec) map[*storage.Object]corev1.ResourceList {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.all[key]; known != nil && equality.Semantic.DeepEqual(known.spec, spec) {
		return known.usage
	}
	return nil
}

// set replaces it. With a new key, those of quotas that are gone are forgotten.
func (m *measures) set(key measuredKey, next *measured, isGone func(quota api.Key) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[key] == nil {
		maps.DeleteFunc(m.all, func(key measuredKey, _ *measured) bool { return isGone(key.quota) })
	}
	if m.all == nil {
		m.all = map[measuredKey]*measured{}
	}
	m.all[key] = next
}

// measure returns what each stored object of a resource uses of a quota, nil for those that do not count.
func (p *Plugin) measure(limits *corev1.ResourceQuota, row *rest.Resource, list []*storage.Object) (map[*storage.Object]corev1.ResourceList, error) {
	key := measuredKey{api.Key{Kind: quota.Kind, Namespace: limits.Namespace, ID: limits.Name}, api.Key{Kind: row.Stored}}
	before := p.measures.before(key, limits.Spec)
	all, lasting := make(map[*storage.Object]corev1.ResourceList, len(list)), make(map[*storage.Object]corev1.ResourceList, len(list))
	codec, now := v1.NewCodec(row.Kind, row.Stored, row.Types()), p.Now()
	for _, stored := range list {
		usage, isKnown := before[stored]
		isLasting := true
		if !isKnown {
			object, err := codec.Out(stored.Object)
			if err != nil {
				return nil, err
			}
			if quota.Covers(limits, row.GroupResource(), object) {
				usage = quota.Usage(row.GroupResource(), object, now)
			}
			pod, isPod := object.(*corev1.Pod)
			isLasting = !isPod || pod.DeletionTimestamp == nil // else it depends on the time
		}
		if all[stored] = usage; isLasting {
			lasting[stored] = usage
		}
	}
	p.measures.set(key, &measured{limits.Spec, lasting}, func(of api.Key) bool {
		_, err := p.objects.Cached().Get(of)
		return err != nil
	})
	return all, nil
}
