package storagetest

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var namespaceTests = []test{
	{"objects of several namespaces may have the same id", onEachKind(sameIDElsewhere)},
	{"a list is sorted by namespace and id", onEachKind(sortedByNamespace)},
	{"what is selected is what a scan finds", selections},
	{"a kind without namespaces may have any word", clusterScoped},
	{"a claim has one owner in all namespaces", onePortOwnerOfAll},
	{"a check after a creation holds after it, or nothing is created", checkedAfter},
	{"nothing is left in a namespace that ends while others create objects there", createdMeanwhile},
}

// hasNamespaces reports whether the objects of a kind have a namespace.
func hasNamespaces(kind api.Kind) bool { return api.DefaultKey(kind, "").Namespace != "" }

func sameIDElsewhere(t *testing.T, h Harness, kind api.Kind) {
	if !hasNamespaces(kind) {
		t.Skip("it has no namespaces")
	}
	stores := h.processes(t)
	writer, reader := stores[0], stores[len(stores)-1]
	elsewhere := api.Key{Kind: kind, Namespace: "dev", ID: "x"}
	first := commit(t, writer, storage.Create(object(kind, "x", 1)))[0]
	second := commit(t, writer, storage.Create(in("dev", object(kind, "x", 2))))[0]
	assert.NotEqual(t, api.UIDOf(first), api.UIDOf(second))
	assert.Equal(t, elsewhere, second.Key())
	_, err := writer.Commit(storage.Create(in("dev", object(kind, "x", 3))))
	requireKind(t, api.AlreadyExists, err)
	_, err = writer.Commit(storage.Update(in("dev", object(kind, "x", 3)), first.Version()))
	requireKind(t, api.Conflict, err)
	_, err = writer.Commit(storage.Require(api.Key{Kind: kind, Namespace: "prod", ID: "x"}))
	requireKind(t, api.NotFound, err)

	third := commit(t, writer, storage.Update(in("dev", object(kind, "x", 3)), second.Version()))[0]
	assert.Equal(t, second.Version(), third.Meta().CreationVersion)
	for _, one := range []storage.Reader{reader, cached(t, reader)} {
		found, err := one.Get(elsewhere)
		require.NoError(t, err)
		assert.Equal(t, factsOf(third), factsOf(found))
		assert.Equal(t, factsOf(first), factsOf(get(t, one, kind, "x")))
		_, err = one.Get(api.Key{Kind: kind, Namespace: "prod", ID: "x"})
		requireKind(t, api.NotFound, err)
	}
	commit(t, writer, storage.Delete(elsewhere, third.Version()))
	_, err = reader.Get(elsewhere)
	requireKind(t, api.NotFound, err)
	assert.Equal(t, factsOf(first), factsOf(get(t, reader, kind, "x")))
	fourth := commit(t, writer, storage.Update(in("dev", object(kind, "x", 4)), storage.Any))[0]
	assert.NotEqual(t, api.UIDOf(second), api.UIDOf(fourth))
}

func sortedByNamespace(t *testing.T, h Harness, kind api.Kind) {
	if !hasNamespaces(kind) {
		t.Skip("it has no namespaces")
	}
	stores := h.processes(t)
	for _, key := range [][2]string{{"dev-1", "a"}, {"dev", "b"}, {"default", "a"}, {"dev", "a"}, {"default", "a-b"}, {"dev", "a-b"}} {
		commit(t, stores[0], storage.Create(in(key[0], object(kind, key[1], 1))))
	}
	for _, store := range stores {
		assert.Equal(t, []string{"default/a", "default/a-b", "dev/a", "dev/a-b", "dev/b", "dev-1/a"}, namesIn(t, store, storage.Selection{Kind: kind}))
		assert.Equal(t, []string{"dev/a", "dev/a-b", "dev/b"}, namesIn(t, store, storage.Selection{Kind: kind, Namespace: "dev"}))
		assert.Equal(t, []string{"default/a", "default/a-b"}, namesIn(t, store, storage.InDefault(kind)))
		assert.Empty(t, namesIn(t, store, storage.Selection{Kind: kind, Namespace: "de"}))
	}
}

func namesIn(t *testing.T, reader storage.Reader, selection storage.Selection) (names []string) {
	list, err := reader.List(selection)
	require.NoError(t, err)
	for _, item := range list.Items {
		names = append(names, item.Key().Namespace+"/"+item.Key().ID)
	}
	return names
}

// selections checks each selection against a scan, on the present version and on an earlier one.
func selections(t *testing.T, h Harness) {
	store := h.Make(t)
	for _, kind := range []api.Kind{api.TaskKind, WidgetKind} {
		for i, namespace := range []string{"default", "default", "dev", "dev", "prod"} {
			for _, id := range []string{"a", "b", "c"} { // every other one is a pod
				made := in(namespace, labelled(kind, id+string(rune('0'+i)), i, map[string]string{"name": id, "tier": []string{"front", "back"}[i%2]}))
				if task, ok := made.(*api.Task); ok {
					task.CurrentState.Host = []string{"m1", "m2"}[i%2]
				}
				commit(t, store, storage.Create(made))
			}
		}
		then := version(t, store)
		before := list(t, store, kind, nil)
		commit(t, store, storage.Delete(before.Items[1].Key(), storage.Present), storage.Delete(before.Items[8].Key(), storage.Present))
		now := list(t, store, kind, nil)
		for _, selection := range []storage.Selection{
			{Namespace: "dev"}, {Machine: "m1"}, {Machine: "m3"}, {Namespace: "dev", Machine: "m2"}, {Labels: map[string]string{"name": "a"}},
			{Namespace: "prod", Labels: map[string]string{"name": "a"}}, {Labels: map[string]string{"name": "a", "tier": "back"}},
			{Namespace: "default", Machine: "m2", Labels: map[string]string{"name": "c", "tier": "back"}}, {Namespace: "none"},
		} {
			selection.Kind = kind
			listed, err := store.List(selection)
			require.NoError(t, err)
			assert.Equal(t, selected(now, selection), allFacts(listed.Items), "%v", selection)
			earlier, err := store.ListAt(selection, then)
			require.NoError(t, err)
			assert.Equal(t, selected(before, selection), allFacts(earlier.Items), "%v at %d", selection, then)
		}
	}
}

// selected returns what a scan finds.
func selected(list *storage.List, selection storage.Selection) []facts {
	found := []facts{}
	for _, item := range list.Items {
		isIn := selection.Namespace == "" || item.Key().Namespace == selection.Namespace
		task, isTask := item.Object.(*api.Task)
		runs := selection.Machine == "" || isTask && task.CurrentState.Host == selection.Machine
		carries := true
		for key, value := range selection.Labels {
			carries = carries && item.GetLabels()[key] == value
		}
		if isIn && runs && carries {
			found = append(found, factsOf(item))
		}
	}
	return found
}

func clusterScoped(t *testing.T, h Harness) {
	stores := h.processes(t)
	for _, kind := range []api.Kind{"namespaces", "gears.example.com"} {
		gear := &api.Any{Kind: kind, ID: "a:b c", ObjectMeta: api.ObjectMeta{Remainder: "1"}, Labels: map[string]string{"name": "x"}}
		written := commit(t, stores[0], storage.Create(gear))[0]
		for _, store := range stores {
			found, err := store.Get(api.Key{Kind: kind, ID: "a:b c"})
			require.NoError(t, err)
			assert.Equal(t, factsOf(written), factsOf(found))
			assert.Equal(t, []string{"/a:b c"}, namesIn(t, store, storage.Selection{Kind: kind, Labels: map[string]string{"name": "x"}}))
		}
		commit(t, stores[0], storage.Delete(written.Key(), written.Version()))
		assert.Empty(t, namesIn(t, stores[len(stores)-1], storage.Selection{Kind: kind}))
	}
}

func onePortOwnerOfAll(t *testing.T, h Harness) {
	store := h.Make(t)
	commit(t, store, storage.Create(taskOn("a", "m1", 80)))
	if h.ClaimsInDefault {
		_, err := store.Commit(storage.Create(in("dev", taskOn("a", "m1", 81))))
		requireKind(t, api.Invalid, err)
		assert.ErrorContains(t, err, "host ports")
		commit(t, store, storage.Create(in("dev", taskOn("b", "m1"))))
		return
	}
	_, err := store.Commit(storage.Create(in("dev", taskOn("a", "m1", 80))))
	requireKind(t, api.HostPortTaken, err)
	other := commit(t, store, storage.Create(in("dev", taskOn("a", "m1", 81))))[0]
	assert.Empty(t, FirstFree(t, store, []string{"m1"}, taskOn("b", "", 81)))
	_, err = store.Commit(storage.Create(taskOn("b", "m1", 81)))
	requireKind(t, api.HostPortTaken, err)
	commit(t, store, storage.Delete(other.Key(), other.Version()), storage.Create(taskOn("b", "m1", 81)))
	assert.Equal(t, []string{"default/a", "default/b"}, slices.Sorted(slices.Values(namesIn(t, store, storage.Selection{Kind: api.TaskKind}))))
}

// checkedAfter: a namespace is deleted after a writer has read it, and before it creates an object there.
func checkedAfter(t *testing.T, h Harness) {
	stores := h.processes(t)
	namespace := &api.Any{Kind: "namespaces", ID: "dev"}
	first := commit(t, stores[0], storage.Create(namespace))[0]
	check := func(version uint64) storage.Change {
		return storage.Change{Key: namespace.Key(), Expected: version, Action: storage.Check}
	}
	for i, store := range stores {
		written := commit(t, store, storage.Create(in("dev", object(WidgetKind, string(rune('a'+i)), 1))), check(first.Version()))
		assert.NotNil(t, written[0])
		assert.Nil(t, written[1])
	}
	changed := commit(t, stores[0], storage.Update(&api.Any{Kind: "namespaces", ID: "dev", Labels: map[string]string{"a": "b"}}, first.Version()))[0]
	for _, store := range stores {
		_, err := store.Commit(storage.Create(in("dev", object(WidgetKind, "late", 1))), check(first.Version()))
		requireKind(t, api.Conflict, err)
	}
	commit(t, stores[0], storage.Delete(changed.Key(), changed.Version()))
	for _, store := range stores {
		_, err := store.Commit(storage.Create(in("dev", object(WidgetKind, "late", 1))), check(changed.Version()))
		requireKind(t, api.NotFound, err)
		_, err = store.Get(api.Key{Kind: WidgetKind, Namespace: "dev", ID: "late"})
		requireKind(t, api.NotFound, err)
	}
}

// createdMeanwhile: whoever deletes a namespace and then lists what is in it leaves nothing there.
func createdMeanwhile(t *testing.T, h Harness) {
	stores := h.processes(t)
	deleter := stores[len(stores)-1]
	for round := range h.rounds(50) {
		name := "n" + strconv.Itoa(round)
		namespace := commit(t, stores[0], storage.Create(&api.Any{Kind: "namespaces", ID: name}))[0]
		var group sync.WaitGroup
		for i, store := range stores {
			group.Go(func() {
				for n := range 5 {
					object := in(name, object(WidgetKind, string(rune('a'+i))+strconv.Itoa(n), n))
					_, _ = store.Commit(storage.Create(object), storage.Change{Key: namespace.Key(), Expected: namespace.Version(), Action: storage.Check})
				}
			})
		}
		marked := commit(t, deleter, storage.Update(&api.Any{Kind: "namespaces", ID: name, Labels: map[string]string{"ends": "now"}}, namespace.Version()))[0]
		found, err := deleter.List(storage.Selection{Kind: WidgetKind, Namespace: name})
		require.NoError(t, err)
		for _, item := range found.Items {
			_, err := deleter.Commit(storage.Delete(item.Key(), storage.Any))
			require.NoError(t, err)
		}
		commit(t, deleter, storage.Delete(marked.Key(), marked.Version()))
		group.Wait()
		assert.Empty(t, namesIn(t, deleter, storage.Selection{Kind: WidgetKind, Namespace: name}))
	}
}
