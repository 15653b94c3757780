package node

import "sync"

// Kind is a kind of objects that nodes are related to.
type Kind int

// The kinds.
const (
	node Kind = iota
	Pod
	Secret
	ConfigMap
	Account
	Claim // for a volume
	Volume
	ResourceClaim
	Attachment
	Slice
)

// Object is an object that a node may be related to.
type Object struct {
	Kind            Kind
	Namespace, Name string
}

// Graph knows what the pods of each node need. It follows pods, volumes, attachments and slices, so it may be a moment behind the
// store. It is safe for concurrent use.
type Graph struct {
	// machine returns the machine of a pod, "" for none.
	machine func(namespace, name string) string

	mu    sync.RWMutex
	edges map[Kind]*edges // by the kind of the objects that have them
}

// edges lead from an object to a node that needs it, or to another object through which one does. Several objects may have the
// same edge, so each is counted.
type edges struct {
	nodes map[Object]map[string]int
	via   map[Object]map[Object]int
}

// NewGraph returns an empty graph. Machine returns the machine of a pod, "" for none. Each decision about a pod calls it.
func NewGraph(machine func(namespace, name string) string) *Graph {
	return &Graph{machine: machine, edges: map[Kind]*edges{}}
}

// Replace replaces the relations of all objects of a kind.
func (g *Graph) Replace(kind Kind, all [][]Relation) {
	fresh := &edges{map[Object]map[string]int{}, map[Object]map[Object]int{}}
	for _, relations := range all {
		fresh.count(relations, 1)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.edges[kind] = fresh
}

// Change replaces the relations of one object of a kind. The kind must have been replaced before.
func (g *Graph) Change(kind Kind, before, after []Relation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.edges[kind].count(before, -1)
	g.edges[kind].count(after, 1)
}

func (e *edges) count(relations []Relation, n int) {
	for _, one := range relations {
		if one.to.Kind == node {
			add(e.nodes, one.from, one.to.Name, n)
		} else {
			add(e.via, one.from, one.to, n)
		}
	}
}

// add adds to a count. One that becomes 0 is removed.
func add[To comparable](counts map[Object]map[To]int, from Object, to To, n int) {
	of := counts[from]
	if of == nil {
		of = map[To]int{}
		counts[from] = of
	}
	if of[to] += n; of[to] == 0 {
		delete(of, to)
	}
	if len(of) == 0 {
		delete(counts, from)
	}
}

// Reaches reports whether a node needs an object.
func (g *Graph) Reaches(object Object, node string) bool {
	if object.Kind == Pod {
		return g.machine(object.Namespace, object.Name) == node
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.reaches(object, node)
}

// reaches ends: secrets lead to volumes, volumes to claims, and these to nodes alone.
func (g *Graph) reaches(object Object, node string) bool {
	for _, e := range g.edges {
		if e.nodes[object][node] > 0 {
			return true
		}
	}
	for _, e := range g.edges {
		for next := range e.via[object] {
			if g.reaches(next, node) {
				return true
			}
		}
	}
	return false
}
