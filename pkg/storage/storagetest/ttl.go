package storagetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var ttlTests = []test{
	{"an object with a TTL ends by itself", endsByItself},
	{"the last write says whether an object ends", lastWriteSays},
}

// soon is a TTL for whose end the tests wait.
const soon = time.Second

func withTTL(change storage.Change, ttl time.Duration) storage.Change {
	change.TTL = ttl
	return change
}

func anEvent(id string, mark int) api.Object { return object(EventKind, id, mark) }

// eventsUntilGone returns the events up to the one by which the last of some objects is deleted.
func eventsUntilGone(t *testing.T, watcher storage.Watcher, ids ...string) (all []storage.Event) {
	for len(ids) > 0 {
		events, err := watcher.Next(t.Context())
		require.NoError(t, err)
		for _, event := range events {
			all = append(all, event)
			if i := slices.Index(ids, idOf(event)); i >= 0 && event.Type == storage.Deleted {
				ids = slices.Delete(ids, i, i+1)
			}
		}
	}
	return all
}

func endsByItself(t *testing.T, h Harness) {
	stores := h.processes(t)
	start := version(t, stores[0])
	writer := stores[len(stores)-1]
	stays := commit(t, writer, storage.Create(anEvent("stays", 1)))[0]
	x := commit(t, writer, withTTL(storage.Create(anEvent("x", 2)), soon))[0]
	var told []seen
	for _, store := range stores {
		events := eventsUntilGone(t, watch(t, store, EventKind, start), "x")
		require.Len(t, events, 3)
		gone := events[2].Version
		assert.Greater(t, gone, x.Version())
		assert.Equal(t, []seen{
			{storage.Added, stays.Version(), facts{}, factsOf(stays)},
			{storage.Added, x.Version(), facts{}, factsOf(x)},
			{storage.Deleted, gone, factsOf(x), facts{}},
		}, eventFacts(events))
		assert.True(t, told == nil || told[2] == eventFacts(events)[2], "all are told the same")
		told = eventFacts(events)
		for _, reader := range []storage.Reader{store, cached(t, store)} {
			_, err := reader.Get(api.DefaultKey(EventKind, "x"))
			assert.Equal(t, api.NewNotFound(EventKind, "x"), err)
			now := list(t, reader, EventKind, nil)
			assert.Equal(t, []facts{factsOf(stays)}, allFacts(now.Items))
			assert.GreaterOrEqual(t, now.Version, gone)
		}
		before, err := store.ListAt(storage.Selection{Kind: EventKind}, x.Version())
		require.NoError(t, err)
		assert.Equal(t, []facts{factsOf(stays), factsOf(x)}, allFacts(before.Items))
		_, err = store.Commit(storage.Update(anEvent("x", 3), x.Version()))
		requireKind(t, api.NotFound, err)
		_, err = store.Commit(storage.Delete(api.DefaultKey(EventKind, "x"), storage.Present))
		requireKind(t, api.NotFound, err)
	}
	if h.Another != nil { // one that was away
		events := eventsUntilGone(t, watch(t, h.Another(t, stores[0]), EventKind, start), "x")
		assert.Equal(t, told, eventFacts(events))
	}
	again := commit(t, writer, storage.Create(anEvent("x", 4)))[0]
	assert.NotEqual(t, api.UIDOf(x), api.UIDOf(again))
}

// lastWriteSays names no version in its changes: what is to end soon may have ended before the
// next change.
func lastWriteSays(t *testing.T, h Harness) {
	stores := h.processes(t)
	start := version(t, stores[0])
	type step func(id string) storage.Change
	write := func(expected uint64, ttl time.Duration) step {
		return func(id string) storage.Change { return withTTL(storage.Update(anEvent(id, 1), expected), ttl) }
	}
	remove := func(id string) storage.Change { return storage.Delete(api.DefaultKey(EventKind, id), storage.Any) }
	var staying, ending []string
	for _, row := range []struct {
		id    string
		stays bool
		steps []step
	}{
		{"a-made-to-end", false, []step{write(storage.Absent, 0), write(storage.Any, soon)}},
		{"b-made-to-end-as-it-is-there", false, []step{write(storage.Absent, 0), write(storage.Present, soon)}},
		{"c-made-to-end-blindly", false, []step{write(storage.Absent, 0), write(storage.Blind, soon)}},
		{"d-ends-sooner", false, []step{write(storage.Absent, time.Hour), write(storage.Any, soon)}},
		{"e-ends-in-less-than-a-second", false, []step{write(storage.Absent, time.Millisecond)}},
		{"f-ends-later", true, []step{write(storage.Absent, soon), write(storage.Any, time.Hour)}},
		{"g-not-to-end", true, []step{write(storage.Absent, soon), write(storage.Any, 0)}},
		{"h-not-to-end-blindly", true, []step{write(storage.Absent, soon), write(storage.Blind, 0)}},
		{"i-made-anew", true, []step{write(storage.Absent, soon), remove, write(storage.Absent, 0)}},
		{"j-made-anew-to-end-later", true, []step{write(storage.Absent, soon), remove, write(storage.Absent, time.Hour)}},
	} {
		for i, step := range row.steps {
			commit(t, stores[i%len(stores)], step(row.id))
		}
		if row.stays {
			staying = append(staying, row.id)
		} else {
			ending = append(ending, row.id)
		}
	}
	commit(t, stores[0], storage.Create(anEvent("k-beside-one-that-ends", 1)), withTTL(storage.Create(anEvent("l-ends", 1)), soon))
	staying, ending = append(staying, "k-beside-one-that-ends"), append(ending, "l-ends")
	for _, id := range []string{"clock-1", "clock-2"} { // what ends without being told to has ended before the second one
		before := version(t, stores[0])
		commit(t, stores[0], withTTL(storage.Create(anEvent(id, 1)), soon))
		eventsUntilGone(t, watch(t, stores[0], EventKind, before), id)
	}
	for _, store := range stores {
		eventsUntilGone(t, watch(t, store, EventKind, start), slices.Clone(ending)...)
		var ids []string
		for _, item := range list(t, store, EventKind, nil).Items {
			ids = append(ids, item.Key().ID)
		}
		assert.Equal(t, staying, ids)
	}
}
