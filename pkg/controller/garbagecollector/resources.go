package garbagecollector

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
)

// resource is a resource whose objects are in the graph.
type resource struct {
	at           schema.GroupVersionResource
	kind         schema.GroupKind
	namespaced   bool
	isNamespaces bool
	isOther      bool // of another server, which may be away: its objects are not waited for
	since        time.Time
	synced       atomic.Bool // the objects have been listed once
	stop         context.CancelFunc
	isGone       bool // the graph takes no more objects of it; guarded by that
	gc           *GarbageCollector
}

// isIgnored reports whether the objects of a resource neither own others nor depend on them: events, which are many.
func isIgnored(resource metav1.APIResource) bool { return resource.Name == "events" }

// kindOf returns the kind of a reference, whatever its version.
func kindOf(reference metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).GroupKind()
}

// monitors has the resources that are followed. It is safe for concurrent use.
type monitors struct {
	mu    sync.Mutex // guards what follows
	all   map[schema.GroupVersionResource]*resource
	stale map[schema.GroupVersion]time.Time // versions of other servers that do not say now what they serve, since when
}

// follow begins to follow new resources, and ends to follow those that are gone.
func (gc *GarbageCollector) follow(ctx context.Context) {
	var (
		others []metav1.APIResource
		stale  []schema.GroupVersion
	)
	if gc.Others != nil {
		others, stale = gc.Others()
	}
	ours := gc.Resources()
	current := slices.DeleteFunc(slices.Concat(ours, others), isIgnored)
	gc.monitors.mu.Lock()
	defer gc.monitors.mu.Unlock()
	before := gc.monitors.stale
	gc.monitors.stale = map[schema.GroupVersion]time.Time{}
	for _, version := range stale {
		since, isKnown := before[version]
		if !isKnown {
			since = time.Now()
		}
		gc.monitors.stale[version] = since
	}
	for at, one := range gc.monitors.all {
		if !slices.ContainsFunc(current, func(r metav1.APIResource) bool { return clientv1.ResourceOf(r) == at }) {
			one.stop()
			delete(gc.monitors.all, at)
			for _, uid := range gc.graph.forget(one) {
				gc.enqueue(gc.graph.remove(uid)...)
			}
		}
	}
	for _, r := range current {
		at := clientv1.ResourceOf(r)
		if gc.monitors.all[at] != nil {
			continue
		}
		one := &resource{at: at, kind: schema.GroupKind{Group: r.Group, Kind: r.Kind}, namespaced: r.Namespaced, isNamespaces: r.Group == "" && r.Name == "namespaces", since: time.Now(), gc: gc}
		one.isOther = !slices.ContainsFunc(ours, func(r metav1.APIResource) bool { return clientv1.ResourceOf(r) == at })
		gc.monitors.all[at] = one
		var own context.Context
		own, one.stop = context.WithCancel(ctx)
		go cache.Reflect(own, "garbage collector: "+at.GroupResource().String(), gc.Client.Metadata(at), cache.Sink[*metav1.PartialObjectMetadata](one))
	}
}

// followForever follows the resources until the context ends.
func (gc *GarbageCollector) followForever(ctx context.Context) {
	for gc.follow(ctx); util.Sleep(ctx, followPeriod); {
		gc.follow(ctx)
	}
}

// followPeriod is how often the resources are looked at.
const followPeriod = time.Second

// hasSynced reports whether the objects of all resources of this server have been listed once.
func (gc *GarbageCollector) hasSynced() bool {
	gc.monitors.mu.Lock()
	defer gc.monitors.mu.Unlock()
	for _, one := range gc.monitors.all {
		if !one.isOther && !one.synced.Load() {
			return false
		}
	}
	return len(gc.monitors.all) > 0
}

// mayHaveMore reports whether another server does not say what it serves, but may soon.
func (gc *GarbageCollector) mayHaveMore() bool {
	gc.monitors.mu.Lock()
	defer gc.monitors.mu.Unlock()
	for _, since := range gc.monitors.stale {
		if time.Since(since) <= listPatience {
			return true
		}
	}
	return false
}

// isKnown reports whether the graph has the objects of a resource of another server. One that cannot be listed counts as known after a while:
// it must not hold the objects of all others.
func (r *resource) isKnown() bool { return r.synced.Load() || time.Since(r.since) > listPatience }

// listPatience is how long the first list of a resource is waited for: as by today's collector.
const listPatience = 30 * time.Second

// ofKind returns the resource of a kind, nil if none is followed.
func (gc *GarbageCollector) ofKind(kind schema.GroupKind) *resource {
	gc.monitors.mu.Lock()
	defer gc.monitors.mu.Unlock()
	for _, one := range gc.monitors.all {
		if one.kind == kind {
			return one
		}
	}
	return nil
}

// Replace implements cache.Sink. What has been missed may have been the end of an owner.
func (r *resource) Replace(objects []*metav1.PartialObjectMetadata, _ string) {
	there := map[types.UID]bool{}
	for _, object := range objects {
		there[object.UID] = true
		r.Set(object, "")
	}
	for _, uid := range r.gc.graph.ofResource(r) {
		if !there[uid] {
			r.gc.enqueue(r.gc.graph.remove(uid)...)
		}
	}
	r.synced.Store(true)
}

// Set implements cache.Sink.
func (r *resource) Set(object *metav1.PartialObjectMetadata, _ string) {
	r.gc.enqueue(r.gc.graph.set(newNode(r, object))...)
}

// Remove implements cache.Sink.
func (r *resource) Remove(object *metav1.PartialObjectMetadata, _ string) {
	r.gc.enqueue(r.gc.graph.remove(object.UID)...)
}

// Reached implements cache.Sink.
func (*resource) Reached(string) {}

// objects returns the client of the objects in a namespace.
func (r *resource) objects(namespace string) clientv1.Resource[*metav1.PartialObjectMetadata] {
	if !r.namespaced {
		namespace = ""
	}
	return r.gc.Client.In(namespace).Metadata(r.at)
}
