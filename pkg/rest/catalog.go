package rest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
)

// Catalog has the resources of a server. They may change while it serves: readers take a snapshot. The
// zero value is empty. A catalog is safe for concurrent use.
type Catalog struct {
	mu       sync.Mutex // held by the writer
	snapshot atomic.Pointer[Snapshot]
	changed  chan struct{} // closed at the next change; nil if nobody waits
}

// Snapshot is the resources of a catalog at one moment. It does not change, and is safe for concurrent use.
type Snapshot struct {
	rows   []*Resource // grouped by group version, then sorted by name
	byName map[schema.GroupVersionResource]*Resource
}

// Snapshot returns the current resources.
func (c *Catalog) Snapshot() *Snapshot {
	if snapshot := c.snapshot.Load(); snapshot != nil {
		return snapshot
	}
	return &none
}

var none Snapshot

// Changed returns a channel that is closed at the next change.
func (c *Catalog) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// Install adds resources. Each replaces one with the same version and name, whose watches end.
func (c *Catalog) Install(resources ...Resource) { c.Replace(nil, resources) }

// Replace removes resources, whose watches end, and adds others, for readers at once.
func (c *Catalog) Replace(removed, added []Resource) {
	paths := map[schema.GroupVersionResource]bool{}
	for _, resource := range slices.Concat(removed, added) {
		paths[resource.path()] = true
	}
	if len(paths) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var rows []*Resource
	for _, row := range c.Snapshot().rows {
		if paths[row.path()] {
			row.end()
		} else {
			rows = append(rows, row)
		}
	}
	for _, resource := range added {
		resource.served, resource.end = context.WithCancel(context.Background())
		rows = append(rows, &resource)
	}
	next, order := &Snapshot{rows: rows, byName: map[schema.GroupVersionResource]*Resource{}}, map[schema.GroupVersion]int{}
	for i, row := range rows {
		next.byName[row.path()] = row
		if _, known := order[row.GroupVersion]; !known {
			order[row.GroupVersion] = i
		}
	}
	slices.SortStableFunc(rows, func(a, b *Resource) int {
		return cmp.Or(cmp.Compare(order[a.GroupVersion], order[b.GroupVersion]), cmp.Compare(a.Name, b.Name))
	})
	c.snapshot.Store(next)
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Find returns the resource with a group version and a name, nil if there is none.
func (s *Snapshot) Find(version schema.GroupVersion, name string) *Resource {
	return s.byName[version.WithResource(name)]
}

// Catalogs are the catalogs of several servers.
type Catalogs []*Catalog

// Rows returns the resources of all catalogs.
func (c Catalogs) Rows() iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		for _, catalog := range c {
			for _, row := range catalog.Snapshot().rows {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// StoredRows returns one resource for each kind in the store: the one whose version is preferred.
func (c Catalogs) StoredRows() iter.Seq[*Resource] { return firstOfEachKind(c.Rows()) }

func firstOfEachKind(rows iter.Seq[*Resource]) iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		known := map[api.Kind]bool{"": true} // rows without objects of their own
		for row := range rows {
			if !known[row.StoredKind] && !yield(row) {
				return
			}
			known[row.StoredKind] = true
		}
	}
}

// ByStoredKind returns the resource that serves the objects of a stored kind, nil if there is none or the kind is "".
func (c Catalogs) ByStoredKind(kind api.Kind) *Resource {
	for row := range c.Rows() {
		if kind != "" && row.StoredKind == kind {
			return row
		}
	}
	return nil
}

// Derived returns a function that returns the result of compute for the resources of the catalogs. It
// caches the result until one of the catalogs changes, or a value that others return.
func Derived[T any](compute func(rows []*Resource) T, catalogs Catalogs, others ...func() any) func() T {
	type derived struct {
		from  []*Snapshot
		also  []any
		value T
	}
	var last atomic.Pointer[derived]
	return func() T {
		next := &derived{}
		for _, catalog := range catalogs {
			next.from = append(next.from, catalog.Snapshot())
		}
		for _, other := range others {
			next.also = append(next.also, other())
		}
		if known := last.Load(); known != nil && slices.Equal(known.from, next.from) && slices.Equal(known.also, next.also) {
			return known.value
		}
		var rows []*Resource // not Rows: the rows must be those of the snapshots
		for _, snapshot := range next.from {
			rows = append(rows, snapshot.rows...)
		}
		next.value = compute(rows)
		last.Store(next)
		return next.value
	}
}
