package etcd3_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/storage/storagetest"
)

// both runs a test on the store of a process that has seen what happened, and of one that
// has begun after it. Each has a place of its own.
func both(t *testing.T, happen func(p place, before *etcd3.Store), test func(t *testing.T, p place, store *etcd3.Store)) {
	for name, after := range map[string]func(t *testing.T, p place, before *etcd3.Store) *etcd3.Store{
		"by a process that has seen it":    func(_ *testing.T, _ place, before *etcd3.Store) *etcd3.Store { return before },
		"by one that has begun afterwards": func(t *testing.T, p place, _ *etcd3.Store) *etcd3.Store { return p.store(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shared(t)
			before := p.store(t)
			happen(p, before)
			version(t, before)
			test(t, p, after(t, p, before))
		})
	}
}

func idsIn(t *testing.T, store storage.Reader, kind api.Kind) []string {
	list, err := store.List(storage.Selection{Kind: kind})
	require.NoError(t, err)
	ids := []string{}
	for _, item := range list.Items {
		ids = append(ids, item.Key().ID)
	}
	return ids
}

// D41: what another program has made unreadable is told, and in nobody's way.
func TestD41WhatCannotBeDecodedIsNamedAndLeftOut(t *testing.T) {
	t.Parallel()
	both(t, func(p place, before *etcd3.Store) {
		commit(t, before, storage.Create(service("good", 1)), storage.Create(service("bad", 1)), storage.Create(taskOn("m1", "good")))
		p.put(t, "/services/specs/default/bad", "no JSON")
		p.put(t, "/controllers/default/list", "[7]")
		p.put(t, "/pods/default/types", `{"labels":7}`)
	}, func(t *testing.T, p place, store *etcd3.Store) {
		assert.Equal(t, []string{"good"}, idsIn(t, store, api.ServiceKind))
		assert.Equal(t, []string{"good"}, idsIn(t, store, api.TaskKind))
		assert.Empty(t, idsIn(t, store, api.ControllerKind))
		_, err := store.Get(api.DefaultKey(api.ServiceKind, "bad"))
		requireKind(t, api.Internal, err)
		assert.EqualError(t, err, "the stored service (key "+p.prefix+"/services/specs/default/bad) cannot be decoded")
		var undecodable *storage.Undecodable
		require.ErrorAs(t, err, &undecodable)
		warnings, err := store.Healthz()
		require.NoError(t, err)
		assert.Equal(t, []string{
			"the stored replication controller (key " + p.prefix + "/controllers/default/list) cannot be decoded",
			"the stored service (key " + p.prefix + "/services/specs/default/bad) cannot be decoded",
			"the stored task (key " + p.prefix + "/pods/default/types) cannot be decoded",
		}, warnings)

		for _, key := range []string{"/services/specs/default/bad", "/controllers/default/list", "/pods/default/types"} {
			p.remove(t, key)
		}
		warnings, err = store.Healthz()
		require.NoError(t, err)
		assert.Empty(t, warnings)
		_, err = store.Get(api.DefaultKey(api.ServiceKind, "bad"))
		requireKind(t, api.NotFound, err)
	})
}

func TestD41WhatCannotBeDecodedCanBeReplacedAndDeleted(t *testing.T) {
	t.Parallel()
	both(t, func(p place, before *etcd3.Store) {
		commit(t, before, storage.Create(service("bad", 1)), storage.Create(service("worse", 1)), storage.Create(service("twice", 1)))
		for _, id := range []string{"bad", "worse", "twice"} {
			p.put(t, "/services/specs/default/"+id, "no JSON")
		}
	}, func(t *testing.T, p place, store *etcd3.Store) {
		watcher, err := store.Watch(storage.Selection{Kind: api.ServiceKind}, version(t, store))
		require.NoError(t, err)
		_, err = store.Commit(storage.Create(service("bad", 2)))
		requireKind(t, api.AlreadyExists, err)
		_, err = store.Commit(storage.Update(service("bad", 2), 1))
		requireKind(t, api.Conflict, err)
		assert.Equal(t, "no JSON", p.values(t)["/services/specs/default/bad"])

		_, err = store.Get(api.DefaultKey(api.ServiceKind, "bad"))
		var undecodable *storage.Undecodable
		require.ErrorAs(t, err, &undecodable)
		written := commit(t, store, storage.Update(service("bad", 2), undecodable.Version))[0]
		assert.Less(t, undecodable.Version, written.Version())
		assert.Less(t, written.Meta().CreationVersion, undecodable.Version, "it is the same object")
		read, err := store.Get(api.DefaultKey(api.ServiceKind, "bad"))
		require.NoError(t, err)
		assert.Equal(t, written.Meta().CreationVersion, read.Meta().CreationVersion)
		assert.Equal(t, 2, portOf(t, store, "bad"))

		p.put(t, "/services/specs/default/bad", "no JSON")
		_, err = storage.GuaranteedUpdate(store, api.DefaultKey(api.ServiceKind, "bad"), func(stored *storage.Object) (api.Object, error) {
			assert.Nil(t, stored)
			return service("bad", 3), nil
		})
		require.NoError(t, err)

		_, err = store.Commit(storage.Delete(api.DefaultKey(api.ServiceKind, "worse"), 1))
		requireKind(t, api.Conflict, err)
		commit(t, store, storage.Delete(api.DefaultKey(api.ServiceKind, "worse"), storage.Present))
		_, err = store.Commit(storage.Delete(api.DefaultKey(api.ServiceKind, "worse"), storage.Present))
		requireKind(t, api.NotFound, err)
		commit(t, store, storage.Delete(api.DefaultKey(api.ServiceKind, "twice"), storage.Present), storage.Create(service("twice", 2)))
		assert.Equal(t, 2, portOf(t, store, "twice"))
		assert.Equal(t, []string{"bad", "twice"}, idsIn(t, store, api.ServiceKind))

		var seen []string
		for len(seen) < 4 {
			events, err := watcher.Next(t.Context())
			require.NoError(t, err)
			for _, event := range events {
				seen = append(seen, string(event.Type))
			}
		}
		assert.Equal(t, []string{"ADDED", "DELETED", "ADDED", "ADDED"}, seen, "who watches sees only what can be decoded")
	})
}

// Nobody knows what a task is that cannot be decoded: it is not replaced, and what its keys
// of host ports say stands.
func TestD41TheHostPortsOfATaskThatCannotBeDecodedStayTaken(t *testing.T) {
	t.Parallel()
	both(t, func(p place, before *etcd3.Store) {
		commit(t, before, storage.Create(taskOn("m1", "bad", 80, 81)), storage.Create(podOn("", "unbound", 80)))
		p.put(t, "/pods/default/bad", "no JSON")
	}, func(t *testing.T, p place, store *etcd3.Store) {
		machine := storagetest.FirstFree(t, store, []string{"m1", "m2"}, taskOn("", "next", 90, 80))
		assert.Equal(t, "m2", machine)
		machine = storagetest.FirstFree(t, store, []string{"m1", "m2"}, taskOn("", "next", 90))
		assert.Equal(t, "m1", machine, "its other host ports are free")

		_, err := store.Commit(storage.Create(taskOn("m1", "next", 90, 81)))
		requireKind(t, api.HostPortTaken, err)
		assert.EqualError(t, err, `task "next" needs host port 81, but on machine m1 task "bad" has it`)
		_, err = store.Commit(storage.Update(podOn("m1", "unbound", 80), storage.Present))
		requireKind(t, api.HostPortTaken, err)
		for _, expected := range []uint64{storage.Present, storage.Any} {
			_, err = store.Commit(storage.Update(taskOn("m1", "bad", 80), expected))
			requireKind(t, api.Internal, err)
			assert.True(t, errors.As(err, new(*storage.Undecodable)))
		}
		calls := count(p.client)
		require.NoError(t, p.storeOver(t, calls).Reconcile())
		assert.False(t, slices.ContainsFunc(calls.since(0), mayWrite))
		values := p.values(t)
		assert.Equal(t, []string{"no JSON", "/pods/default/bad", "/pods/default/bad"}, []string{values["/pods/default/bad"], values["/hostports/m1/80"], values["/hostports/m1/81"]})

		commit(t, store, storage.Delete(api.DefaultKey(api.TaskKind, "bad"), storage.Present))
		machine = storagetest.FirstFree(t, store, []string{"m1"}, taskOn("", "next", 80))
		assert.Equal(t, "m1", machine)
		commit(t, store, storage.Create(taskOn("m1", "next", 90, 81)))
		require.NoError(t, store.Reconcile())
		values = p.values(t)
		assert.NotContains(t, values, "/pods/default/bad")
		assert.NotContains(t, values, "/hostports/m1/80")
		assert.Equal(t, "/pods/default/next", values["/hostports/m1/81"])
	})
}

func TestKeysThatAreForNoObjectAreIgnored(t *testing.T) {
	t.Parallel()
	const value = `{"id":"x"}`
	keys := []string{"/pods/default/", "/pods/default/a/b", "/pods", "/services/x", "/services/specs", "/services/specs/default/a/b", "/other/x", "/", "//pods/x",
		"/hostports/", "/hostports/m1", "/podsx/x", "x/pods/x"}
	both(t, func(p place, before *etcd3.Store) {
		commit(t, before, storage.Create(service("x", 1)))
		for _, key := range keys {
			p.put(t, key, value)
		}
	}, func(t *testing.T, p place, store *etcd3.Store) {
		for _, kind := range []api.Kind{api.TaskKind, api.ControllerKind, api.EndpointsKind, api.NodeKind, "events"} {
			assert.Empty(t, idsIn(t, store, kind))
		}
		assert.Equal(t, []string{"x"}, idsIn(t, store, api.ServiceKind))
		warnings, err := store.Healthz()
		require.NoError(t, err)
		assert.Empty(t, warnings)
		for _, key := range keys {
			p.remove(t, key)
		}
		assert.Equal(t, 1, portOf(t, store, "x"))
	})
}

// The owner of a host port is the task that its key names, whoever else says so.
func TestAHostPortStaysWithItsOwnerWhenACopyOfThatIsDeleted(t *testing.T) {
	t.Parallel()
	p := shared(t)
	store := p.store(t)
	commit(t, store, storage.Create(taskOn("m", "a", 80)))
	p.put(t, "/pods/default/b", p.values(t)["/pods/default/a"])
	commit(t, store, storage.Delete(api.DefaultKey(api.TaskKind, "b"), storage.Present))
	assert.Equal(t, "/pods/default/a", p.values(t)["/hostports/m/80"])
	machine := storagetest.FirstFree(t, store, []string{"m", "n"}, taskOn("", "c", 80))
	assert.Equal(t, "n", machine)
	_, err := store.Commit(storage.Create(taskOn("m", "c", 80)))
	requireKind(t, api.HostPortTaken, err)
	commit(t, store, storage.Create(taskOn("n", "c", 80)), storage.Delete(api.DefaultKey(api.TaskKind, "a"), storage.Present), storage.Create(taskOn("m", "d", 80)))
	assert.Equal(t, "/pods/default/d", p.values(t)["/hostports/m/80"])
	commit(t, store, storage.Create(taskOn("m", "e", 81)), storage.Delete(api.DefaultKey(api.TaskKind, "e"), storage.Present))
	assert.NotContains(t, p.values(t), "/hostports/m/81")
	requireConsistent(t, p)
}
