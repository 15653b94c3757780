package storagetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var watchCacheTests = []test{
	{"who watches a selection gets what enters it, changes in it, and leaves it", selectedEvents},
	{"a kind that changes often expires nobody who watches another one", busyKind},
	{"a namespace that changes often expires nobody who watches another one", busyNamespace},
	{"a kind has changed when one of its objects has", changed},
}

func selectedEvents(t *testing.T, h Harness) {
	stores := h.processes(t)
	writer, reader := stores[0], stores[len(stores)-1]
	start := version(t, reader)
	watchers := map[string]storage.Watcher{}
	for name, selection := range map[string]storage.Selection{
		"all": {}, "dev": {Namespace: "dev"}, "m1": {Machine: "m1"}, "m2": {Machine: "m2"}, "m1 in dev": {Machine: "m1", Namespace: "dev"},
		"web": {Labels: map[string]string{"name": "web"}}, "none": {Namespace: "none"},
	} {
		selection.Kind = api.TaskKind
		watcher, err := reader.Watch(selection, start)
		require.NoError(t, err)
		watchers[name] = watcher
	}
	web := map[string]string{"name": "web"}
	commit(t, writer, storage.Create(unplaced(object(api.TaskKind, "a", 1)))) // a is a pod
	commit(t, writer, storage.Create(in("dev", labelled(api.TaskKind, "b", 1, web))))
	commit(t, writer, storage.Update(object(api.TaskKind, "a", 2), storage.Present)) // it gets machine m1
	commit(t, writer, storage.Update(in("dev", object(api.TaskKind, "b", 2)), storage.Present))
	commit(t, writer, storage.Create(object(api.ServiceKind, "s", 1)))
	commit(t, writer, storage.Delete(api.DefaultKey(api.TaskKind, "a"), storage.Present))
	end := taskOn("end", "m2")
	end.Labels = web
	commit(t, writer, storage.Create(end))
	for name, want := range map[string][]string{
		"all":       {"ADDED a", "ADDED b", "MODIFIED a", "MODIFIED b", "DELETED a", "ADDED end"},
		"dev":       {"ADDED b", "MODIFIED b"},
		"m1":        {"ADDED b", "MODIFIED a", "MODIFIED b", "DELETED a"},
		"m2":        {"ADDED end"},
		"m1 in dev": {"ADDED b", "MODIFIED b"},
		"web":       {"ADDED b", "MODIFIED b", "ADDED end"},
	} {
		var got []string
		for len(got) < len(want) {
			events, err := watchers[name].Next(t.Context())
			if h.CutsOff && api.KindOf(err) == api.Expired {
				break
			}
			require.NoError(t, err)
			for _, event := range events {
				got = append(got, string(event.Type)+" "+event.Key().ID)
			}
		}
		assert.Equal(t, want[:len(got)], got, name)
	}
	now := version(t, reader)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := watchers["none"].Next(ended)
	if !h.CutsOff || api.KindOf(err) != api.Expired {
		require.ErrorIs(t, err, context.Canceled)
		assert.GreaterOrEqual(t, watchers["none"].Version(), now, "what it does not watch has changed")
	}
	for _, watcher := range watchers {
		watcher.Stop()
	}
}

// quiet checks that what others change expires no watcher.
func quiet(t *testing.T, h Harness, store storage.Interface, watched storage.Selection, then api.Object, busy func()) {
	if h.Forget == nil || h.CutsOff {
		t.Skip("the history is too long")
	}
	after := version(t, store)
	watcher, err := store.Watch(watched, after)
	require.NoError(t, err)
	busy()
	commit(t, store, storage.Create(then))
	events, err := watcher.Next(t.Context())
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, then.Key(), events[0].Key())
	watcher.Stop()
}

func busyKind(t *testing.T, h Harness) {
	store := h.Make(t)
	quiet(t, h, store, storage.Selection{Kind: api.ServiceKind}, object(api.ServiceKind, "x", 1), func() { ForgetByWriting(t, store, EventKind) })
}

func busyNamespace(t *testing.T, h Harness) {
	store := h.Make(t)
	quiet(t, h, store, storage.Selection{Kind: api.TaskKind, Namespace: "dev"}, in("dev", object(api.TaskKind, "x", 1)), func() { ForgetByWriting(t, store, api.TaskKind) })
}

func changed(t *testing.T, h Harness) {
	store := h.Make(t)
	of := func(kind api.Kind) uint64 {
		version, err := store.Changed(kind)
		require.NoError(t, err)
		return version
	}
	for _, kind := range kinds {
		before := of(kind)
		written := commit(t, store, storage.Create(object(kind, "x", 1)))[0]
		assert.Equal(t, written.Version(), of(kind))
		assert.Greater(t, written.Version(), before)
	}
	last := of(api.TaskKind)
	commit(t, store, storage.Update(object(EventKind, "x", 2), storage.Present))
	assert.Equal(t, last, of(api.TaskKind))
	assert.Greater(t, of(EventKind), last)
	commit(t, store, storage.Delete(api.DefaultKey(api.TaskKind, "x"), storage.Present))
	assert.Greater(t, of(api.TaskKind), last)
	assert.LessOrEqual(t, of(api.TaskKind), version(t, store))
}
