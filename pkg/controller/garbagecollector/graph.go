package garbagecollector

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// node is what the graph knows about an object. It is immutable.
type node struct {
	resource        *resource
	namespace, name string
	uid             types.UID
	owners          []metav1.OwnerReference
	isDeleted       bool
	finalizers      []string // those of the garbage collector only
}

func newNode(of *resource, object *metav1.PartialObjectMetadata) *node {
	n := &node{resource: of, namespace: object.Namespace, name: object.Name, uid: object.UID, owners: object.OwnerReferences, isDeleted: object.DeletionTimestamp != nil}
	for _, name := range object.Finalizers {
		if name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents {
			n.finalizers = append(n.finalizers, name)
		}
	}
	return n
}

// waitsFor reports whether a deleted object waits until the garbage collector removes a finalizer.
func (n *node) waitsFor(finalizer string) bool {
	return n.isDeleted && slices.Contains(n.finalizers, finalizer)
}

// isBlocking reports whether an object keeps an owner that waits until its dependents are deleted.
func (n *node) isBlocking(owner types.UID) bool {
	return slices.ContainsFunc(n.owners, func(reference metav1.OwnerReference) bool {
		return reference.UID == owner && reference.BlockOwnerDeletion != nil && *reference.BlockOwnerDeletion
	})
}

// graph has the objects of all resources, and which of them name which others as owners. It is safe for concurrent use.
type graph struct {
	mu         sync.Mutex // guards what follows
	nodes      map[types.UID]*node
	dependents map[types.UID]map[types.UID]*node // by the uid of an owner, which need not be there
	namespaces map[string]types.UID
}

func newGraph() *graph {
	return &graph{nodes: map[types.UID]*node{}, dependents: map[types.UID]map[types.UID]*node{}, namespaces: map[string]types.UID{}}
}

// isLike reports whether nothing has changed for the collector.
func (n *node) isLike(before *node) bool {
	return n.isDeleted == before.isDeleted && slices.Equal(n.finalizers, before.finalizers) &&
		slices.EqualFunc(n.owners, before.owners, func(a, b metav1.OwnerReference) bool {
			return a.UID == b.UID && n.isBlocking(a.UID) == before.isBlocking(a.UID)
		})
}

// set stores an object, and returns those that must be looked at.
func (g *graph) set(n *node) (affected []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n.resource.isGone { // its reflector has not ended yet
		return nil
	}
	affected = []types.UID{n.uid}
	if before := g.nodes[n.uid]; before != nil {
		if n.isLike(before) {
			return nil
		}
		affected = append(affected, uidsOf(before.owners)...) // it may block them no longer
		g.unlink(before)
	}
	g.nodes[n.uid] = n
	g.share(n)
	for _, owner := range n.owners {
		if g.dependents[owner.UID] == nil {
			g.dependents[owner.UID] = map[types.UID]*node{}
		}
		g.dependents[owner.UID][n.uid] = n
	}
	if n.resource.isNamespaces {
		g.namespaces[n.name] = n.uid
	}
	return affected
}

// share lets a new object have the references of another dependent of its owner if they are equal: most have one owner. The caller
// holds the lock.
func (g *graph) share(n *node) {
	if len(n.owners) == 0 {
		return
	}
	for _, sibling := range g.dependents[n.owners[0].UID] {
		if sibling.namespace == n.namespace {
			n.namespace = sibling.namespace
		}
		if equality.Semantic.DeepEqual(sibling.owners, n.owners) {
			n.owners = sibling.owners
		}
		return
	}
}

// remove removes an object, and returns those that must be looked at: its owners, its dependents, and what is in it.
func (g *graph) remove(uid types.UID) (affected []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	if n == nil {
		return nil
	}
	g.unlink(n)
	delete(g.nodes, uid)
	affected = slices.AppendSeq(uidsOf(n.owners), maps.Keys(g.dependents[uid]))
	if n.resource.isNamespaces && g.namespaces[n.name] == uid {
		delete(g.namespaces, n.name)
		for other, in := range g.nodes {
			if in.namespace == n.name {
				affected = append(affected, other)
			}
		}
	}
	return affected
}

// unlink removes an object from the dependents of its owners. The caller holds the lock.
func (g *graph) unlink(n *node) {
	for _, owner := range n.owners {
		if delete(g.dependents[owner.UID], n.uid); len(g.dependents[owner.UID]) == 0 {
			delete(g.dependents, owner.UID)
		}
	}
}

func uidsOf(owners []metav1.OwnerReference) (uids []types.UID) {
	for _, owner := range owners {
		uids = append(uids, owner.UID)
	}
	return uids
}

// get returns an object, nil if there is none.
func (g *graph) get(uid types.UID) *node {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.nodes[uid]
}

// dependentsOf returns the objects that name an owner.
func (g *graph) dependentsOf(owner types.UID) []*node {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.dependents[owner]))
}

// forget lets a resource that is gone have no more objects, and returns those that it has.
func (g *graph) forget(of *resource) []types.UID {
	g.mu.Lock()
	of.isGone = true
	g.mu.Unlock()
	return g.ofResource(of)
}

// ofResource returns the uids of the objects of a resource.
func (g *graph) ofResource(of *resource) (uids []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid, n := range g.nodes {
		if n.resource == of {
			uids = append(uids, uid)
		}
	}
	return uids
}

// needsNothing reports whether the graph shows that an object stays: all its owners, and its namespace, are there, and it
// does not wait for anything.
func (g *graph) needsNothing(n *node) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, isThere := g.namespaces[n.namespace]; !isThere && n.namespace != "" || n.isDeleted && len(n.finalizers) > 0 {
		return false
	}
	for _, reference := range n.owners {
		owner := g.nodes[reference.UID]
		if owner == nil || !owner.is(reference) || owner.namespace != "" && owner.namespace != n.namespace || owner.waitsFor(metav1.FinalizerDeleteDependents) {
			return false
		}
	}
	return true
}

// is reports whether a reference is to this object.
func (n *node) is(reference metav1.OwnerReference) bool {
	return n.uid == reference.UID && n.name == reference.Name && n.resource.kind == kindOf(reference)
}
