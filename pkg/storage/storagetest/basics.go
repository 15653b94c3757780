package storagetest

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var basicTests = []test{
	{"an empty store has no objects", onEachKind(emptyStore)},
	{"each change makes the version of the store larger", onEachKind(versionsGrow)},
	{"an object has the version of its last change and that of its creation", onEachKind(objectVersions)},
	{"an object keeps its uid until it is deleted", onEachKind(uids)},
	{"objects of several kinds may have the same id", sameID},
	{"a list is sorted by the bytes of the ids", onEachKind(sortedList)},
	{"all reads agree with a model after random changes", model},
	{"what a store gives out never changes", immutable},
}

func emptyStore(t *testing.T, h Harness, kind api.Kind) {
	for _, store := range h.processes(t) {
		for _, reader := range []storage.Reader{store, cached(t, store)} {
			_, err := reader.Get(api.DefaultKey(kind, "x"))
			assert.Equal(t, api.NewNotFound(kind, "x"), err)
			for _, labels := range []map[string]string{nil, {}, {"name": "web"}, {"name": ""}} {
				assert.Empty(t, list(t, reader, kind, labels).Items)
			}
		}
	}
}

func versionsGrow(t *testing.T, h Harness, kind api.Kind) {
	stores := h.processes(t)
	before := version(t, stores[0])
	for i, change := range []storage.Change{
		storage.Create(object(kind, "x", 1)),
		storage.Create(object(kind, "y", 1)),
		storage.Update(object(kind, "x", 2), storage.Present),
		storage.Update(object(kind, "x", 2), storage.Present),
		storage.Delete(api.DefaultKey(kind, "x"), storage.Any),
		storage.Update(object(kind, "x", 2), storage.Any),
		storage.Delete(api.DefaultKey(kind, "x"), storage.Present),
	} {
		listed := list(t, stores[0], kind, nil).Version
		written := commit(t, stores[i%len(stores)], change)[0]
		if change.Action == storage.Remove {
			assert.Nil(t, written)
		} else {
			assert.Greater(t, written.Version(), before)
			assert.Greater(t, written.Version(), listed)
		}
		for _, store := range stores {
			after := version(t, store)
			assert.Greater(t, after, before)
			assert.GreaterOrEqual(t, list(t, store, kind, nil).Version, after)
			assert.GreaterOrEqual(t, version(t, cached(t, store)), after, "the process has read it")
			assert.True(t, written == nil || written.Version() <= after)
		}
		before = version(t, stores[0])
	}
}

func objectVersions(t *testing.T, h Harness, kind api.Kind) {
	stores := h.processes(t)
	var last *storage.Object
	for i := range 5 {
		writer := stores[i%len(stores)]
		object := commit(t, writer, storage.Update(object(kind, "x", i), storage.Any))[0]
		if last == nil {
			last = object
		}
		assert.GreaterOrEqual(t, object.Version(), last.Version())
		assert.Equal(t, last.Meta().CreationVersion, object.Meta().CreationVersion)
		assert.Equal(t, object.Version() == object.Meta().CreationVersion, i == 0)
		commit(t, writer, storage.Create(labelled(kind, fmt.Sprint("other", i), i, nil)))
		for _, store := range stores {
			assert.Equal(t, factsOf(object), factsOf(get(t, store, kind, "x")))
			assert.Equal(t, factsOf(object), factsOf(get(t, cached(t, store), kind, "x")))
			items := list(t, store, kind, nil).Items
			assert.Equal(t, factsOf(object), factsOf(items[len(items)-1]))
		}
		last = object
	}
}

func uids(t *testing.T, h Harness, kind api.Kind) {
	stores := h.processes(t)
	seen := map[string]bool{}
	for life := range 4 {
		uid, created := "", uint64(0)
		for i := range 3 {
			written := commit(t, stores[i%len(stores)], storage.Update(object(kind, "x", i), storage.Any))[0]
			if i == 0 {
				uid, created = api.UIDOf(written), written.Version()
				assert.NotEmpty(t, uid)
				assert.False(t, seen[uid], "uid %s was used before, life %d", uid, life)
				seen[uid] = true
			}
			assert.Equal(t, uid, api.UIDOf(written))
			assert.Equal(t, created, written.Meta().CreationVersion)
		}
		other := api.UIDOf(commit(t, stores[0], storage.Create(object(kind, fmt.Sprint("y", life), 0)))[0])
		assert.False(t, seen[other], "two objects have uid %s", other)
		seen[other] = true
		commit(t, stores[0], storage.Delete(api.DefaultKey(kind, "x"), storage.Present))
	}
}

func sameID(t *testing.T, h Harness) {
	store := h.Make(t)
	uids := map[string]bool{}
	for i, kind := range kinds {
		uids[api.UIDOf(commit(t, store, storage.Create(object(kind, "x", i)))[0])] = true
	}
	assert.Len(t, uids, len(kinds))
	for i, kind := range kinds {
		assert.Equal(t, i, markOf(get(t, store, kind, "x")))
		assert.Len(t, list(t, store, kind, nil).Items, 1)
		commit(t, store, storage.Delete(api.DefaultKey(kind, "x"), storage.Present))
		all, err := allIn(store)
		require.NoError(t, err)
		assert.Len(t, all, len(kinds)-i-1)
	}
}

func sortedList(t *testing.T, h Harness, kind api.Kind) {
	store := h.Make(t)
	ids := []string{"b", "a-b", "10", "a", "B", "9", "a.b", "aa", "a_b", "ab", "A"}
	for _, id := range ids {
		commit(t, store, storage.Create(labelled(kind, id, 1, map[string]string{"name": "web"})))
	}
	slices.Sort(ids)
	for _, labels := range []map[string]string{nil, {"name": "web"}} {
		if labels != nil && kind == api.EndpointsKind {
			continue
		}
		var listed []string
		for _, item := range list(t, store, kind, labels).Items {
			listed = append(listed, item.Key().ID)
		}
		assert.Equal(t, ids, listed)
	}
}

// randomLabels returns up to 3 labels of 27 possible ones. A value may be empty.
func randomLabels(random *rand.Rand) map[string]string {
	labels := map[string]string{}
	for _, key := range []string{"name", "tier", "track"} {
		if value := random.Intn(4); value < 3 {
			labels[key] = []string{"", "a", "b"}[value]
		}
	}
	return labels
}

// queries are all label queries of up to 3 labels, and some that nothing carries.
func queries() []map[string]string {
	queries := []map[string]string{{}}
	for _, key := range []string{"name", "tier", "track"} {
		for _, query := range slices.Clone(queries) {
			for _, value := range []string{"", "a", "b"} {
				longer := map[string]string{key: value}
				for key, value := range query {
					longer[key] = value
				}
				queries = append(queries, longer)
			}
		}
	}
	return append(queries, map[string]string{"name": "nobody"}, map[string]string{"none": ""}, map[string]string{"name": "a", "none": "a"})
}

// scan is the oracle for label queries: it looks at every object.
func scan(objects map[string]*storage.Object, query map[string]string) []facts {
	found := []facts{}
	for _, object := range objects {
		carries := true
		for key, value := range query {
			own, ok := object.GetLabels()[key]
			carries = carries && ok && own == value
		}
		if carries {
			found = append(found, factsOf(object))
		}
	}
	slices.SortFunc(found, func(a, b facts) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return found
}

func model(t *testing.T, h Harness) {
	stores := h.processes(t)
	random := rand.New(rand.NewSource(1))
	model := map[api.Kind]map[string]*storage.Object{}
	for _, kind := range kinds {
		model[kind] = map[string]*storage.Object{}
	}
	for i := range h.rounds(3000) {
		kind, id := kinds[random.Intn(len(kinds))], fmt.Sprint("x", random.Intn(40))
		writer, reader := stores[random.Intn(len(stores))], stores[random.Intn(len(stores))]
		if random.Intn(3) == 0 {
			commit(t, writer, storage.Delete(api.DefaultKey(kind, id), storage.Any))
			delete(model[kind], id)
		} else {
			model[kind][id] = commit(t, writer, storage.Update(labelled(kind, id, i, randomLabels(random)), storage.Any))[0]
			assert.Equal(t, i, markOf(model[kind][id]))
		}
		read, err := reader.Get(api.DefaultKey(kind, id))
		assert.True(t, err == nil || api.KindOf(err) == api.NotFound, "%v", err)
		require.Equal(t, factsOf(model[kind][id]), factsOf(read))
		if i%200 > 0 {
			continue
		}
		for _, kind := range labelledKinds {
			for _, query := range queries() {
				require.Equal(t, scan(model[kind], query), allFacts(list(t, reader, kind, query).Items), "%v", query)
			}
		}
		require.Equal(t, scan(model[api.EndpointsKind], nil), allFacts(list(t, reader, api.EndpointsKind, nil).Items))
	}
}

// immutable keeps the JSON of everything that it gets, and compares it at the end.
func immutable(t *testing.T, h Harness) {
	store := h.Make(t)
	start := version(t, store)
	random := rand.New(rand.NewSource(2))
	type kept struct {
		object *storage.Object
		then   string
	}
	var all []kept
	keep := func(objects ...*storage.Object) {
		for _, object := range objects {
			if object != nil {
				text, err := json.Marshal(object.Object)
				require.NoError(t, err)
				all = append(all, kept{object, string(text)})
			}
		}
	}
	lists := map[*storage.List][]facts{}
	changes := 0
	for i := range h.rounds(1000) {
		kind, id := kinds[random.Intn(len(kinds))], fmt.Sprint("x", random.Intn(8))
		if random.Intn(4) == 0 {
			if object, err := store.Get(api.DefaultKey(kind, id)); err == nil {
				keep(object)
				commit(t, store, storage.Delete(api.DefaultKey(kind, id), storage.Any))
				changes++
			}
		} else {
			keep(commit(t, store, storage.Update(labelled(kind, id, i, randomLabels(random)), storage.Any))...)
			keep(get(t, store, kind, id))
			changes++
		}
		for _, query := range []map[string]string{nil, {"name": "a"}, {"name": "a", "tier": "b"}} {
			list := list(t, store, kind, query)
			lists[list] = allFacts(list.Items)
		}
	}
	for _, kind := range kinds {
		commit(t, store, storage.Create(object(kind, "end", 0)))
		for _, event := range eventsUntilEnd(t, watch(t, store, kind, start)) {
			keep(event.Before, event.After)
			changes--
		}
	}
	assert.Zero(t, changes, "the watchers saw as many changes as there were")
	for _, kept := range all {
		text, err := json.Marshal(kept.object.Object)
		require.NoError(t, err)
		require.Equal(t, kept.then, string(text))
	}
	for list, then := range lists {
		require.Equal(t, then, allFacts(list.Items))
	}
}
