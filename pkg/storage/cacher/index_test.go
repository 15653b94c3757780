package cacher

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

func TestTheIndexAgreesWithAScanAfterRandomChanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	objects, all := makeIndex(), map[string]*storage.Object{}
	randomLabels := func(most int) map[string]string {
		labels := map[string]string{}
		for range random.Intn(most + 1) {
			labels[fmt.Sprint("k", random.Intn(3))] = []string{"", "a", "b", "c"}[random.Intn(4)]
		}
		return labels
	}
	for i := range 5000 {
		id := fmt.Sprint("x", random.Intn(50))
		var after *storage.Object
		if random.Intn(3) > 0 {
			task := makeTask(id, randomLabels(4))
			task.IsPod, task.CurrentState.Host = true, []string{"", "m1", "m2"}[random.Intn(3)]
			after = storage.NewObject(task, uint64(i), 1)
		}
		objects.swap(all[id], after)
		if all[id] = after; after == nil {
			delete(all, id)
		}
		require.Same(t, after, objects.get(api.DefaultKey(api.TaskKind, id)))
		query, machine := randomLabels(3), []string{"", "m1", "m2"}[random.Intn(3)]
		var want []*storage.Object
		for _, object := range all {
			carries := machine == "" || storage.MachineOf(object) == machine
			for key, value := range query {
				own, ok := object.GetLabels()[key]
				carries = carries && ok && own == value
			}
			if carries {
				want = append(want, object)
			}
		}
		slices.SortFunc(want, func(a, b *storage.Object) int { return cmp.Compare(a.Key().ID, b.Key().ID) })
		got := objects.list(storage.Selection{Kind: api.TaskKind, Labels: query, Machine: machine})
		require.True(t, slices.Equal(want, got), "%v on %q: %v, not %v", query, machine, idsOf(got), idsOf(want))
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		objects.swap(all[id], nil)
	}
	assert.Empty(t, objects.byLabel, "an empty index keeps no label")
	assert.Zero(t, objects.byName.Len())
}

func TestAListIsNotTheIndexItself(t *testing.T) {
	t.Parallel()
	cache := New(0)
	labels := map[string]string{"name": "web", "tier": "front"}
	for _, id := range []string{"a", "b", "c"} {
		put(t, cache, makeTask(id, labels))
	}
	for _, query := range []map[string]string{nil, {"name": "web"}, labels} {
		first, err := cache.List(storage.Selection{Kind: api.TaskKind, Labels: query})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, idsOf(first.Items))
		clear(first.Items)
		second, err := cache.List(storage.Selection{Kind: api.TaskKind, Labels: query})
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b", "c"}, idsOf(second.Items))
	}
}
