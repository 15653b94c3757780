package cacher

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

func TestAChangeThatIsTriedTellsItsEventsAndLeavesNoTrace(t *testing.T) {
	t.Parallel()
	cache := New(10)
	put(t, cache, makeTask("a", map[string]string{"name": "web"}, 80))
	put(t, cache, makeTask("b", map[string]string{"name": "web", "tier": "back"}, 81))
	put(t, cache, makeTask("c", map[string]string{"name": "db"}, 82, 83))
	watcher, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 13)
	require.NoError(t, err)
	before := contentsOf(cache)
	tried, err := cache.Try(func(tx *Tx) error { changeMuch(tx); return nil })
	require.NoError(t, err)
	assert.Equal(t, before, contentsOf(cache))

	require.NoError(t, cache.Update(func(tx *Tx) error { changeMuch(tx); return nil }))
	events, err := watcher.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, inShort(events), inShort(tried), "they are those of the change that is made")
}

func TestAChangeThatIsTriedMayFail(t *testing.T) {
	t.Parallel()
	cache, refusal := New(10), errors.New("no")
	put(t, cache, makeTask("a", nil, 80))
	put(t, cache, makeTask("b", nil, 81))
	put(t, cache, makeTask("c", nil, 82))
	before := contentsOf(cache)
	events, err := cache.Try(func(tx *Tx) error { changeMuch(tx); return refusal })
	assert.Equal(t, refusal, err)
	assert.Empty(t, events)
	assert.Equal(t, before, contentsOf(cache))
	events, err = cache.Try(func(*Tx) error { return nil })
	require.NoError(t, err)
	assert.Empty(t, events)
}

// inShort returns what events say, apart from the objects themselves.
func inShort(events []storage.Event) (all [][4]any) {
	version := func(object *storage.Object) uint64 {
		if object == nil {
			return 0
		}
		return object.Version()
	}
	for _, event := range events {
		all = append(all, [4]any{event.Type, event.Version, version(event.Before), version(event.After)})
	}
	return all
}

func TestAChangeIsAppliedWithTheNextVersion(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change  storage.Change
		want    api.ErrorKind
		version uint64 // of the cache, which has the task a of version 11
		written bool
		created uint64
	}{
		"a new object":                {storage.Create(service(1)), "", 12, true, 12},
		"another version":             {storage.Update(makeTask("a", nil, 81), 11), "", 12, true, 11},
		"a deletion":                  {storage.Delete(api.DefaultKey(api.TaskKind, "a"), storage.Present), "", 12, false, 0},
		"a deletion of nothing":       {storage.Delete(api.DefaultKey(api.TaskKind, "b"), storage.Any), "", 11, false, 0},
		"a requirement":               {storage.Require(api.DefaultKey(api.TaskKind, "a")), "", 11, false, 0},
		"what there should not be":    {storage.Create(makeTask("a", nil)), api.AlreadyExists, 11, false, 0},
		"what there should be":        {storage.Require(api.DefaultKey(api.TaskKind, "b")), api.NotFound, 11, false, 0},
		"what should not be so old":   {storage.Update(makeTask("a", nil), 10), api.Conflict, 11, false, 0},
		"a host port that is taken":   {storage.Create(makeTask("b", nil, 90, 80)), api.HostPortTaken, 11, false, 0},
		"a task that would be a pod":  {storage.Update(&api.Task{JSONBase: api.JSONBase{ID: "a"}, IsPod: true}, storage.Present), api.Invalid, 11, false, 0},
		"an unconditional deletion":   {storage.Delete(api.DefaultKey(api.TaskKind, "a"), storage.Blind), "", 12, false, 0},
		"an unconditional write":      {storage.Update(makeTask("a", nil), storage.Any), "", 12, true, 11},
		"one that may be a first one": {storage.Update(makeTask("c", nil), storage.Blind), "", 12, true, 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := New(10)
			put(t, cache, makeTask("a", nil, 80))
			var written *storage.Object
			err := cache.Update(func(tx *Tx) (err error) {
				written, err = tx.Apply(row.change)
				return err
			})
			assert.Equal(t, row.want, api.KindOf(err))
			assert.Equal(t, row.version, contentsOf(cache).version)
			require.Equal(t, row.written, written != nil)
			if written != nil {
				assert.EqualValues(t, 12, written.Version())
				assert.Equal(t, row.created, written.Meta().CreationVersion)
				stored, err := cache.Get(row.change.Key)
				require.NoError(t, err)
				assert.Same(t, written, stored)
			}
		})
	}
}

func TestAVersionThatIsExpectedCanBeWatchedFrom(t *testing.T) {
	t.Parallel()
	cache := New(10)
	_, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 12)
	require.EqualError(t, err, "Too large resource version: 12, current: 10")
	cache.Expect(12)
	cache.Expect(11)
	watcher, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 12)
	require.NoError(t, err)
	_, err = cache.Watch(storage.Selection{Kind: api.TaskKind}, 13)
	require.EqualError(t, err, "Too large resource version: 13, current: 12")
	for _, id := range []string{"a", "b", "c"} {
		put(t, cache, makeTask(id, nil))
	}
	events, err := watcher.Next(t.Context())
	require.NoError(t, err)
	require.Len(t, events, 1, "the cache has heard of what was before")
	assert.EqualValues(t, 13, events[0].Version)

	cache.Expect(20)
	cache.Reset(15, nil)
	_, err = cache.Watch(storage.Selection{Kind: api.TaskKind}, 16)
	assert.Equal(t, api.Expired, api.KindOf(err), "nothing is expected of what is read anew")
}

func TestTheEventsOfAHistoryUpToAVersion(t *testing.T) {
	t.Parallel()
	cache := New(10)
	for _, id := range []string{"a", "b", "c"} {
		put(t, cache, makeTask(id, nil))
	}
	for until, want := range map[uint64]int{0: 0, 10: 0, 11: 1, 12: 2, 13: 3, 99: 3} {
		events, all := cache.Events(until)
		assert.True(t, all)
		assert.Len(t, events, want, until)
	}
	events, _ := cache.Events(12)
	events[0] = storage.Event{}
	again, _ := cache.Events(12)
	assert.EqualValues(t, 11, again[0].Version, "they are the caller's own")
	for i := range maxEvents {
		put(t, cache, service(i))
	}
	_, all := cache.Events(99)
	assert.True(t, all, "each kind has a history of its own")
	put(t, cache, service(1))
	_, all = cache.Events(99)
	assert.False(t, all, "one has been dropped")
}

func TestAChangeInWords(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "create task", storage.Create(makeTask("x", nil)).InWords())
	assert.Equal(t, "update service", storage.Update(service(1), storage.Present).InWords())
	assert.Equal(t, "update service", storage.Update(service(1), storage.Any).InWords())
	assert.Equal(t, "delete endpoints", storage.Delete(api.DefaultKey(api.EndpointsKind, "x"), storage.Any).InWords())
	assert.Equal(t, "delete task", storage.Delete(api.DefaultKey(api.TaskKind, "x"), storage.Absent).InWords())
	assert.Equal(t, "list tasks", storage.ListInWords(api.TaskKind))
	assert.Equal(t, "list endpoints", storage.ListInWords(api.EndpointsKind))
	assert.Equal(t, "list apiservices.apiregistration.k8s.io", storage.ListInWords("apiservices.apiregistration.k8s.io"))
}

func TestTheVersionOfAnObjectThatIsToBeNewMeansNothingElse(t *testing.T) {
	t.Parallel()
	assert.NotContains(t, []uint64{storage.Absent, storage.Present, storage.Any, storage.Blind}, api.ToBeCreated)
}
