package storagetest

import (
	"fmt"
	"math/rand"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var togetherTests = []test{
	{"changes of several kinds are made together", severalKinds},
	{"a watcher gets each change of a large commit", onEachKind(largeCommit)},
	{"nobody sees one change of a commit without the others", onEachKind(pairs)},
	{"a watcher that is far behind gets the changes of a commit together", onEachKind(pairsFarBehind)},
}

func severalKinds(t *testing.T, h Harness) {
	stores := h.processes(t)
	var changes []storage.Change
	for i, kind := range kinds {
		changes = append(changes, storage.Create(object(kind, "x", i)), storage.Create(object(kind, "y", i)))
	}
	written := commit(t, stores[0], changes...)
	for _, store := range stores {
		for i, change := range changes {
			assert.Equal(t, factsOf(written[i]), factsOf(get(t, store, change.Key.Kind, change.Key.ID)))
			assert.Equal(t, i/2, markOf(written[i]))
		}
	}
	written = commit(t, stores[len(stores)-1],
		storage.Require(api.DefaultKey(api.TaskKind, "x")),
		storage.Delete(api.DefaultKey(api.TaskKind, "y"), storage.Present),
		storage.Update(object(api.ServiceKind, "x", 9), written[4].Version()),
		storage.Delete(api.DefaultKey(api.EndpointsKind, "none"), storage.Any))
	assert.Equal(t, []bool{true, true, false, true}, []bool{written[0] == nil, written[1] == nil, written[2] == nil, written[3] == nil})
	for _, store := range stores {
		all, err := allIn(store)
		require.NoError(t, err)
		assert.Len(t, all, len(changes)-1)
		assert.Equal(t, factsOf(written[2]), factsOf(get(t, store, api.ServiceKind, "x")))
	}
}

func largeCommit(t *testing.T, h Harness, kind api.Kind) {
	const size = 20
	stores := h.processes(t)
	start := version(t, stores[0])
	var creates, mixed []storage.Change
	for i := range size {
		id := fmt.Sprintf("x%02d", i)
		creates = append(creates, storage.Create(object(kind, id, i)))
		if i%3 == 0 {
			mixed = append(mixed, storage.Delete(api.DefaultKey(kind, id), storage.Present))
		} else {
			mixed = append(mixed, storage.Update(object(kind, id, -i), storage.Present))
		}
	}
	created := commit(t, stores[0], creates...)
	later := list(t, stores[0], kind, nil)
	assert.Equal(t, allFacts(created), allFacts(later.Items))
	written := commit(t, stores[len(stores)-1], mixed...)
	commit(t, stores[0], storage.Create(object(kind, "end", 0)))
	for _, store := range stores {
		events := eventsUntilEnd(t, watch(t, store, kind, start))
		require.Len(t, events, 2*size)
		assert.Equal(t, eventFacts(events[size:]), eventFacts(eventsUntilEnd(t, watch(t, store, kind, later.Version))))
		before, after := map[string]facts{}, map[string]facts{}
		for _, event := range events[:size] {
			assert.Equal(t, storage.Added, event.Type)
			before[idOf(event)] = factsOf(event.After)
		}
		for _, event := range events[size:] {
			assert.Equal(t, before[idOf(event)], factsOf(event.Before))
			after[idOf(event)] = factsOf(event.After)
		}
		for i, change := range mixed {
			assert.Equal(t, factsOf(created[i]), before[change.Key.ID])
			assert.Contains(t, after, change.Key.ID)
			assert.Equal(t, factsOf(written[i]), after[change.Key.ID])
		}
	}
}

// pairOf makes changes that give both objects of a pair the same mark.
func pairOf(kind api.Kind, mark int) []storage.Change {
	return []storage.Change{
		storage.Update(object(kind, "left", mark), storage.Any),
		storage.Update(object(kind, "right", mark), storage.Any),
	}
}

// whole returns an error unless the objects are a pair that was written together, or
// none.
func whole(items []*storage.Object) error {
	switch {
	case len(items) == 0:
		return nil
	case len(items) == 2 && markOf(items[0]) == markOf(items[1]) && markOf(items[0]) >= 0:
		return nil
	}
	return fmt.Errorf("a part of a commit is seen: %v", allFacts(items))
}

func pairs(t *testing.T, h Harness, kind api.Kind) {
	if !h.Atomic {
		t.Skip("the store is not atomic")
	}
	h.skipMost(t, kind)
	const writers = 4
	stores := h.processes(t)
	start := version(t, stores[0])
	stop := make(chan struct{})
	var writing, reading, watching sync.WaitGroup
	for w := range writers {
		store := stores[w%len(stores)]
		writing.Go(func() {
			random := rand.New(rand.NewSource(int64(w)))
			for i := range h.rounds(100) {
				changes := pairOf(kind, i*writers+w)
				switch random.Intn(4) {
				case 0:
					changes = []storage.Change{storage.Delete(api.DefaultKey(kind, "left"), storage.Any), storage.Delete(api.DefaultKey(kind, "right"), storage.Any)}
				case 1: // fails, after the first change
					changes[0].Object, changes[1] = object(kind, "left", -2), storage.Require(api.DefaultKey(kind, "none"))
				}
				_, err := store.Commit(changes...)
				assert.True(t, err == nil || api.KindOf(err) == api.NotFound, "%v", err)
			}
		})
	}
	for _, store := range stores {
		for _, reader := range []storage.Reader{store, cached(t, store)} {
			reading.Go(func() {
				for begun := true; begun; {
					select {
					case <-stop:
						begun = false
					default:
					}
					list, err := reader.List(storage.Selection{Kind: kind})
					if assert.NoError(t, err) && !assert.NoError(t, whole(list.Items)) {
						return
					}
				}
			})
		}
	}
	watchers := make([]error, len(stores))
	for i, store := range stores {
		watcher := watch(t, store, kind, start)
		watching.Go(func() { watchers[i] = watchPairs(t, watcher) })
	}
	writing.Wait()
	close(stop)
	reading.Wait()
	commit(t, stores[0], storage.Create(object(kind, "end", 0)))
	watching.Wait()
	for _, err := range watchers {
		assert.NoError(t, err)
	}
}

// watchPairs reads events until the object end is added. It returns an error if the
// pair is not whole after what Next returned at once.
func watchPairs(t *testing.T, watcher storage.Watcher) error {
	state := map[string]*storage.Object{}
	for {
		events, err := watcher.Next(t.Context())
		if err != nil {
			return err
		}
		ended := false
		for _, event := range events {
			ended = ended || isEnd(event)
			if id := idOf(event); id == "left" || id == "right" {
				state[id] = event.After
			}
		}
		var items []*storage.Object
		for _, item := range state {
			if item != nil {
				items = append(items, item)
			}
		}
		if err := whole(items); err != nil || ended {
			return err
		}
	}
}

func pairsFarBehind(t *testing.T, h Harness, kind api.Kind) {
	if !h.Atomic {
		t.Skip("the store is not atomic")
	}
	if h.Slow && kind != api.TaskKind {
		t.Skip("it takes long, and one kind is enough")
	}
	for _, odd := range []int{0, 1} { // wherever a store cuts what it gives out
		store := h.Make(t)
		watcher := watch(t, store, kind, version(t, store))
		for range odd {
			commit(t, store, storage.Create(object(kind, "single", 0)))
		}
		for i := range 300 { // a batch is 500 events, or the rest of a commit more
			commit(t, store, pairOf(kind, i)...)
		}
		commit(t, store, storage.Create(object(kind, "end", 0)))
		assert.NoError(t, watchPairs(t, watcher))
	}
}
