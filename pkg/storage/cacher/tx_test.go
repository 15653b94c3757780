package cacher

import (
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// contents is all that a cache holds, apart from the objects themselves.
type contents struct {
	version uint64
	objects map[api.Kind][]*storage.Object
	labels  map[label][]*storage.Object
	claims  map[api.Claim]api.Object
	events  int
}

func contentsOf(cache *Cache) contents {
	c := contents{
		version: cache.version, objects: map[api.Kind][]*storage.Object{}, labels: map[label][]*storage.Object{},
		claims: map[api.Claim]api.Object{},
	}
	for kind, objects := range cache.kinds {
		c.events += len(objects.history.events)
		if objects.byName.Len() > 0 {
			c.objects[kind] = objects.byName.Values()
		}
		for label, carriers := range objects.byLabel {
			c.labels[label] = carriers.Values()
		}
	}
	maps.Copy(c.claims, cache.claims)
	return c
}

// changeMuch makes changes of each sort, which depend on each other: ports go from
// task to task, and an object is created, changed and deleted.
func changeMuch(tx *Tx) {
	replace := func(id string, object api.Object) {
		version := tx.Version() + 1
		before := tx.Get(api.DefaultKey(api.TaskKind, id))
		if object == nil {
			tx.Replace(before, nil, version)
			return
		}
		tx.Replace(before, storage.NewObject(object, version, version), version)
	}
	replace("a", makeTask("a", map[string]string{"name": "db"}, 82))
	replace("b", makeTask("b", map[string]string{"name": "web", "tier": "front"}, 80))
	replace("c", nil)
	replace("d", makeTask("d", map[string]string{"name": "web"}, 83))
	replace("d", makeTask("d", nil, 81))
	replace("d", nil)
	replace("c", makeTask("c", map[string]string{"new": "1"}, 81))
	replace("b", nil)
	replace("e", makeTask("e", map[string]string{"name": "e"}, 80))
}

func TestAChangeThatFailsIsUndone(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"with an error": func() error { return errors.New("no") },
		"with a panic":  func() error { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := New(10)
			put(t, cache, makeTask("a", map[string]string{"name": "web"}, 80))
			put(t, cache, makeTask("b", map[string]string{"name": "web", "tier": "back"}, 81))
			put(t, cache, makeTask("c", map[string]string{"name": "db"}, 82, 83))
			watcher, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 13)
			require.NoError(t, err)
			before := contentsOf(cache)
			func() {
				defer func() { _ = recover() }()
				assert.Error(t, cache.Update(func(tx *Tx) error {
					changeMuch(tx)
					assert.EqualValues(t, 22, tx.Version())
					return fail()
				}))
			}()
			assert.Equal(t, before, contentsOf(cache))

			require.NoError(t, cache.Update(func(tx *Tx) error { changeMuch(tx); return nil }), "the lock is free")
			assert.Equal(t, []string{"a", "c", "e"}, idsOf(contentsOf(cache).objects[api.TaskKind]))
			assert.Len(t, contentsOf(cache).claims, 3)
			assert.Len(t, contentsOf(cache).labels, 4, "and the machine")
			events, err := watcher.Next(t.Context())
			require.NoError(t, err)
			require.Len(t, events, 9)
			assert.EqualValues(t, 14, events[0].Version)
			assert.EqualValues(t, 22, cache.version)
		})
	}
}

func TestAChangeSeesWhatItHasMadeSoFar(t *testing.T) {
	t.Parallel()
	cache := New(0)
	require.NoError(t, cache.Update(func(tx *Tx) error {
		assert.Nil(t, tx.Get(api.DefaultKey(api.TaskKind, "a")))
		object := storage.NewObject(makeTask("a", nil, 80), 5, 5)
		tx.Replace(nil, object, 5)
		assert.Same(t, object, tx.Get(api.DefaultKey(api.TaskKind, "a")))
		assert.EqualValues(t, 5, tx.Version())
		_, err := tx.Apply(storage.Create(makeTask("b", nil, 81, 80)))
		assert.Equal(t, api.NewHostPortTaken("b", 80, "m1", "a"), err)
		_, err = tx.Apply(storage.Update(makeTask("a", nil, 80), 5))
		assert.NoError(t, err, "its own")
		return nil
	}))
}

func TestAChangeThatChangesNothingMakesNoVersion(t *testing.T) {
	t.Parallel()
	cache := New(7)
	require.NoError(t, cache.Update(func(*Tx) error { return nil }))
	assert.Equal(t, contentsOf(New(7)), contentsOf(cache))
}

// A store of which others are the masters may tell of the new owner first.
func TestAPortStaysWithItsLastOwnerWhenAnEarlierOneGoes(t *testing.T) {
	t.Parallel()
	cache := New(0)
	put(t, cache, makeTask("a", nil, 80))
	put(t, cache, makeTask("b", nil, 80))
	put(t, cache, makeTask("a", nil, 81))
	assert.Empty(t, firstFree(t, cache, makeTask("c", nil, 80), "m1"), "task b has it")
	remove(t, cache, api.TaskKind, "b")
	assert.Equal(t, "m1", firstFree(t, cache, makeTask("c", nil, 80), "m1"))
}
