// Package garbagecollector deletes objects whose owners are gone, as a client of the API.
//
// An object names its owners by uid, in ownerReferences. When the last one is gone, the object is deleted (background). A
// deleted owner with the finalizer foregroundDeletion waits until the dependents that block it are gone; one with the
// finalizer orphan waits until no dependent names it any more.
package garbagecollector

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"

	"kube2014/pkg/controller"
)

// GarbageCollector deletes what has lost its owners. It follows the metadata of all objects. Before it deletes or changes
// an object, it asks the server for that and for its owners. Its work can be interrupted at any moment and repeated, also
// by several collectors at once. It does not wait for the objects of other servers, but for a while before it lets orphans free.
type GarbageCollector struct {
	*controller.Loop // over uids
	graph            *graph
	monitors         monitors
	absent           *utilcache.LRUExpireCache // owners that are gone. They do not come back: a uid is never used again
}

// NewGarbageCollector returns a collector.
func NewGarbageCollector(config controller.Config) *GarbageCollector {
	gc := &GarbageCollector{graph: newGraph(), monitors: monitors{all: map[schema.GroupVersionResource]*resource{}},
		absent: utilcache.NewLRUExpireCache(maxAbsent)}
	gc.Loop = controller.NewLoop(config, "garbage collector", gc.sync)
	gc.WaitFor(gc.hasSynced)
	return gc
}

// Run works with a number of workers until the context ends. It is called once.
func (gc *GarbageCollector) Run(ctx context.Context, workers int) {
	go gc.followForever(ctx)
	gc.Loop.Run(ctx, workers)
}

func (gc *GarbageCollector) enqueue(uids ...types.UID) {
	for _, uid := range uids {
		gc.Queue.Add(string(uid))
	}
}

// sync does what is to be done about an object. It retries if another client was faster.
func (gc *GarbageCollector) sync(ctx context.Context, uid string) error {
	n := gc.graph.get(types.UID(uid))
	if n == nil || gc.graph.needsNothing(n) {
		return nil
	}
	object, err := n.resource.objects(n.namespace).Get(ctx, n.name)
	switch {
	case apierrors.IsMethodNotSupported(err): // a watch will tell
		return nil
	case err == nil && object.UID == n.uid:
		err = gc.collect(ctx, newNode(n.resource, object), object)
	}
	switch {
	case errors.Is(err, errUnlisted):
		gc.Queue.AddAfter(uid, followPeriod)
		return nil
	case errors.Is(err, errUnknownKind): // it may come
		gc.Queue.AddAfter(uid, unknownPause)
		return nil
	}
	return gc.Outrun(uid, retryPause, err)
}

// errUnlisted is about dependents that are not known now, but soon: their resource has just come, or is about to go or to change.
var errUnlisted = errors.New("not all dependents can be listed")

var errUnknownKind = errors.New("the kind of an owner is not known")

// collect does what is to be done about an object as the server has it.
func (gc *GarbageCollector) collect(ctx context.Context, n *node, object *metav1.PartialObjectMetadata) error {
	switch {
	case n.waitsFor(metav1.FinalizerOrphanDependents):
		return gc.orphan(ctx, n, object)
	case n.waitsFor(metav1.FinalizerDeleteDependents):
		return gc.deleteDependents(ctx, n, object)
	case n.isDeleted: // its dependents come when it is gone
		return nil
	}
	owned, err := gc.classify(ctx, n)
	switch {
	case err != nil:
		return err
	case len(owned.solid) > 0 && len(owned.lost)+len(owned.waiting) > 0:
		return gc.release(ctx, n, object, append(owned.lost, owned.waiting...)...)
	case len(owned.solid) > 0:
		return nil
	case len(owned.lost)+len(owned.waiting) == 0:
		return gc.collectFromMissingNamespace(ctx, n, object)
	}
	policy := metav1.DeletePropagationBackground
	dependents := gc.graph.dependentsOf(n.uid)
	switch {
	case len(owned.waiting) > 0 && len(dependents) > 0:
		isCycle := slices.ContainsFunc(dependents, func(dependent *node) bool { return dependent.waitsFor(metav1.FinalizerDeleteDependents) })
		if isCycle { // each would wait for the other
			if object, err = gc.unblock(ctx, n, object); err != nil {
				return err
			}
		}
		policy = metav1.DeletePropagationForeground
	case slices.Contains(n.finalizers, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(n.finalizers, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	}
	return gc.delete(ctx, n, object, policy)
}

// delete deletes an object that is as it was read.
func (gc *GarbageCollector) delete(ctx context.Context, n *node, object *metav1.PartialObjectMetadata, policy metav1.DeletionPropagation) error {
	return n.resource.objects(n.namespace).Delete(ctx, n.name, metav1.DeleteOptions{PropagationPolicy: &policy,
		Preconditions: &metav1.Preconditions{UID: &n.uid, ResourceVersion: &object.ResourceVersion}})
}

// collectFromMissingNamespace deletes an object without owners if its namespace is gone. On a store without transactions,
// a server that is killed while it creates an object may leave it there.
func (gc *GarbageCollector) collectFromMissingNamespace(ctx context.Context, n *node, object *metav1.PartialObjectMetadata) error {
	if n.namespace == "" || n.namespace == metav1.NamespaceDefault {
		return nil
	}
	_, err := gc.Client.Namespaces().Get(ctx, n.namespace)
	if !apierrors.IsNotFound(err) {
		return err
	}
	return gc.delete(ctx, n, object, metav1.DeletePropagationBackground)
}

// deleteDependents removes the finalizer of an object that waits for its dependents when none blocks it any more.
func (gc *GarbageCollector) deleteDependents(ctx context.Context, n *node, object *metav1.PartialObjectMetadata) error {
	isBlocked := false
	for _, dependent := range gc.graph.dependentsOf(n.uid) {
		isBlocked = isBlocked || dependent.isBlocking(n.uid)
		gc.enqueue(dependent.uid)
	}
	if isBlocked {
		return nil
	}
	return gc.removeFinalizer(ctx, n, object, metav1.FinalizerDeleteDependents)
}

// orphan releases all dependents of an object, and removes its finalizer. It lists them anew: one that it missed would be
// deleted later.
func (gc *GarbageCollector) orphan(ctx context.Context, n *node, object *metav1.PartialObjectMetadata) error {
	if gc.mayHaveMore() {
		return errUnlisted
	}
	for _, of := range gc.all() {
		if of.isOther && of.isKnown() || n.namespace != "" && !of.namespaced {
			continue // the graph has its objects, or they cannot depend on an object in a namespace
		}
		list, err := of.objects(n.namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return errUnlisted
		}
		if err != nil {
			return err
		}
		for _, dependent := range list.Items {
			if !slices.Contains(uidsOf(dependent.OwnerReferences), n.uid) {
				continue
			}
			if err := gc.release(ctx, newNode(of, dependent), dependent, n.uid); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	for _, dependent := range gc.graph.dependentsOf(n.uid) {
		if !dependent.resource.isOther {
			continue
		}
		object, err := dependent.resource.objects(dependent.namespace).Get(ctx, dependent.name)
		if err == nil {
			err = gc.release(ctx, dependent, object, n.uid)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return gc.removeFinalizer(ctx, n, object, metav1.FinalizerOrphanDependents)
}

// all returns the resources that are followed.
func (gc *GarbageCollector) all() []*resource {
	gc.monitors.mu.Lock()
	defer gc.monitors.mu.Unlock()
	return slices.Collect(maps.Values(gc.monitors.all))
}

// ownedBy has the uids of an object's owners.
type ownedBy struct {
	solid   []types.UID // they are there
	waiting []types.UID // they wait until their dependents are deleted
	lost    []types.UID // they are gone
}

// classify asks the server for the owners of an object.
func (gc *GarbageCollector) classify(ctx context.Context, n *node) (owned ownedBy, err error) {
	for _, reference := range n.owners {
		owner, err := gc.owner(ctx, n, reference)
		switch {
		case err != nil:
			return owned, err
		case owner == nil:
			owned.lost = append(owned.lost, reference.UID)
		case owner.waitsFor(metav1.FinalizerDeleteDependents):
			owned.waiting = append(owned.waiting, reference.UID)
		default:
			owned.solid = append(owned.solid, reference.UID)
		}
	}
	return owned, nil
}

// owner returns the owner of a reference, nil if it is gone. One in another namespace counts as gone, as in today's
// collector, which an event says. An owner that cannot be looked for counts as there.
func (gc *GarbageCollector) owner(ctx context.Context, n *node, reference metav1.OwnerReference) (*node, error) {
	unknown := &node{uid: reference.UID}
	of := gc.ofKind(kindOf(reference))
	switch {
	case of == nil:
		return nil, errUnknownKind
	case of.namespaced && n.namespace == "": // an object without a namespace cannot say which one
		return unknown, nil
	}
	key := absentOwner{n.namespace, reference}
	key.Controller, key.BlockOwnerDeletion = nil, nil // the same owner, whatever they say
	if _, isGone := gc.absent.Get(key); isGone {
		return nil, nil
	}
	object, err := of.objects(n.namespace).Get(ctx, reference.Name)
	if err == nil && object.UID == reference.UID {
		return newNode(of, object), nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	gc.absent.Add(key, nil, math.MaxInt64)
	if known := gc.graph.get(reference.UID); known != nil && known.namespace != "" && known.namespace != n.namespace {
		about := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: n.name, UID: n.uid}}
		about.SetGroupVersionKind(n.resource.at.GroupVersion().WithKind(n.resource.kind.Kind))
		gc.Recorder.Eventf(about, corev1.EventTypeWarning, "OwnerRefInvalidNamespace", "ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
			reference.APIVersion, reference.Kind, n.namespace, reference.Name, reference.UID, n.namespace)
	}
	return nil, nil
}

// maxAbsent bounds the owners that are known to be gone.
const maxAbsent = 1000

// absentOwner is a reference to an owner from a namespace.
type absentOwner struct {
	namespace string
	metav1.OwnerReference
}
