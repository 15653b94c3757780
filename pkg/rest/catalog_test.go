package rest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
)

var a, b = schema.GroupVersion{Group: "a", Version: "v1"}, schema.GroupVersion{Group: "b", Version: "v1"}

func rowAt(version schema.GroupVersion, name string) Resource {
	return Resource{GroupVersion: version, Name: name, StoredKind: api.Kind(name)}
}

func namesOf(rows []*Resource) (names []string) {
	for _, row := range rows {
		names = append(names, row.GroupVersion.Group+"/"+row.Name)
	}
	return names
}

func TestResourcesComeAndGo(t *testing.T) {
	t.Parallel()
	var c Catalog
	empty := c.Snapshot()
	assert.Nil(t, empty.Find(a, "x"))
	c.Install(rowAt(b, "x/status"), rowAt(b, "x"), rowAt(a, "z"))
	before := c.Snapshot()
	c.Install(rowAt(b, "c"), rowAt(a, "y"))
	assert.Equal(t, []string{"b/c", "b/x", "b/x/status", "a/y", "a/z"}, namesOf(slices.Collect(Catalogs{&c}.Rows())), "versions in the order of their installation, names sorted")
	assert.Equal(t, "x/status", c.Snapshot().Find(b, "x/status").Name)
	assert.Nil(t, c.Snapshot().Find(a, "x"))

	c.Replace([]Resource{rowAt(b, "x"), rowAt(b, "x/status"), rowAt(b, "none")}, nil)
	assert.Equal(t, []string{"b/c", "a/y", "a/z"}, namesOf(slices.Collect(Catalogs{&c}.Rows())), "some have gone")
	assert.NotNil(t, before.Find(b, "x"), "a snapshot does not change")
	assert.Nil(t, empty.Find(a, "z"))
}

func TestTheRowOfAStoredKindIsFoundInAnyCatalog(t *testing.T) {
	t.Parallel()
	var first, second Catalog
	first.Install(rowAt(a, "x"), Resource{GroupVersion: a, Name: "reviews"})
	second.Install(rowAt(b, "y"))
	all := Catalogs{&first, &second}
	assert.Equal(t, schema.GroupResource{Group: "b", Resource: "y"}, all.ByStoredKind("y").GroupResource())
	assert.Nil(t, all.ByStoredKind("z"))
	assert.Nil(t, all.ByStoredKind(""), "what is not stored has no kind")

	old := rowAt(schema.GroupVersion{Group: "b", Version: "v0"}, "y")
	second.Install(old)
	assert.Equal(t, b, all.ByStoredKind("y").GroupVersion, "the version that comes first is preferred")
	assert.Equal(t, []string{"a/x", "b/y"}, namesOf(slices.Collect(all.StoredRows())))
}

func TestWhoWaitsForTheRemovalOfAResourceIsCalledOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c Catalog
		c.Install(rowAt(a, "x"), rowAt(a, "y"))
		var removed []string
		for _, name := range []string{"x", "y"} {
			c.Snapshot().Find(a, name).OnRemoval(func() { removed = append(removed, name) })
		}
		stop := c.Snapshot().Find(a, "x").OnRemoval(func() { t.Error("it has stopped waiting") })
		assert.True(t, stop())
		c.Install(rowAt(a, "x"))
		synctest.Wait()
		assert.Equal(t, []string{"x"}, removed, "a resource that is replaced is another one")
		c.Replace([]Resource{rowAt(a, "x")}, nil)
		synctest.Wait()
		assert.Equal(t, []string{"x"}, removed)
	})
}

func TestWhatFollowsFromCatalogsIsComputedAgainOnlyAfterAChange(t *testing.T) {
	t.Parallel()
	var first, second Catalog
	computed := 0
	names := Derived(func(rows []*Resource) []string {
		computed++
		return namesOf(rows)
	}, Catalogs{&first, &second})
	assert.Empty(t, names())
	first.Install(rowAt(a, "x"))
	second.Install(rowAt(b, "y"))
	for range 3 {
		assert.Equal(t, []string{"a/x", "b/y"}, names())
	}
	second.Replace([]Resource{rowAt(b, "y")}, nil)
	assert.Equal(t, []string{"a/x"}, names())
	assert.Equal(t, 3, computed)
}

func TestACatalogIsReadWhileItChanges(t *testing.T) {
	t.Parallel()
	var c Catalog
	c.Install(rowAt(a, "always"))
	var group sync.WaitGroup
	var done atomic.Int64
	names := Derived(namesOf, Catalogs{&c})
	const writers, each = 4, 50
	for w := range writers {
		group.Go(func() {
			defer done.Add(1)
			for range each {
				name := fmt.Sprint("x", w)
				c.Install(rowAt(b, name))
				assert.NotNil(t, c.Snapshot().Find(b, name))
				c.Replace([]Resource{rowAt(b, name)}, nil)
				assert.Nil(t, c.Snapshot().Find(b, name))
			}
		})
	}
	for range 4 {
		group.Go(func() {
			for done.Load() < writers {
				assert.NotNil(t, c.Snapshot().Find(a, "always"))
				assert.Contains(t, names(), "a/always")
			}
		})
	}
	group.Wait()
	assert.Equal(t, []string{"a/always"}, names())
}
