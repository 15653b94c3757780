package cacher

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

func earlier(version uint64, id string) storage.Event {
	task := &api.Task{JSONBase: api.JSONBase{ID: id}}
	return storage.Event{Type: storage.Added, Version: version, After: storage.NewObject(task, version, version)}
}

func versions(t *testing.T, watcher storage.Watcher) (seen []uint64) {
	events, err := watcher.Next(t.Context())
	require.NoError(t, err)
	for _, event := range events {
		seen = append(seen, event.Version)
	}
	return seen
}

func TestAHistoryIsExtendedByWhatWasBeforeIt(t *testing.T) {
	t.Parallel()
	cache := New(10)
	add := func(version uint64, id string) {
		require.NoError(t, cache.Update(func(tx *Tx) error {
			tx.Replace(nil, earlier(version, id).After, version)
			return nil
		}))
	}
	add(11, "k")
	slow, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 10)
	require.NoError(t, err)
	_, err = cache.Watch(storage.Selection{Kind: api.TaskKind}, 7)
	require.Equal(t, api.Expired, api.KindOf(err))

	cache.Extend(7, 9, []storage.Event{earlier(8, "h")})
	assert.EqualValues(t, 10, cache.Since(), "what does not end where the history begins is left out")
	huge := earlier(10, strings.Repeat("x", maxHistorySize+1))
	cache.Extend(9, 10, []storage.Event{{Type: storage.Deleted, Version: 10, Before: huge.After}})
	assert.EqualValues(t, 10, cache.Since(), "in bytes, too")
	cache.Extend(7, 10, []storage.Event{earlier(8, "h"), earlier(9, "i"), earlier(10, "j")})
	assert.EqualValues(t, 7, cache.Since())

	watcher, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 7)
	require.NoError(t, err)
	assert.Equal(t, []uint64{8, 9, 10, 11}, versions(t, watcher))
	watcher, err = cache.Watch(storage.Selection{Kind: api.TaskKind}, 8)
	require.NoError(t, err)
	add(12, "l")
	assert.Equal(t, []uint64{9, 10, 11, 12}, versions(t, watcher))
	assert.Equal(t, []uint64{11, 12}, versions(t, slow), "who watches already loses nothing and gets nothing twice")
	_, err = cache.Watch(storage.Selection{Kind: api.TaskKind}, 6)
	assert.Equal(t, api.Expired, api.KindOf(err))

	var many []storage.Event
	for i := range maxEvents {
		many = append(many, earlier(6, fmt.Sprint(i)))
	}
	cache.Extend(5, 7, many)
	_, err = cache.Watch(storage.Selection{Kind: api.TaskKind}, 6)
	assert.Equal(t, api.Expired, api.KindOf(err), "the history of a kind stays bounded")
	_, err = cache.Watch(storage.Selection{Kind: api.ServiceKind}, 5)
	assert.NoError(t, err, "the others are extended")
}
