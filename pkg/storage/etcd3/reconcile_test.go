package etcd3_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/storage/storagetest"
)

// Only another program can leave keys of host ports without their task.
func TestReconcileDeletesTheKeysOfHostPortsWhoseTaskIsGone(t *testing.T) {
	t.Parallel()
	both(t, func(p place, before *etcd3.Store) {
		commit(t, before, storage.Create(taskOn("m", "gone", 80, 81)), storage.Create(taskOn("m", "stays", 82)), storage.Create(taskOn("m", "less", 83, 84)))
		p.remove(t, "/pods/default/gone")
		p.put(t, "/pods/default/less", `{"currentState":{"host":"m"},"desiredState":{"manifest":{"containers":[{"ports":[{"hostPort":84}]}]}}}`)
		p.put(t, "/hostports/m/85", "/pods/default/never")
		p.put(t, "/hostports/other/82", "/pods/default/stays")
		for _, key := range []string{"/other", "/hostports/pods/x", "/hostports/services/specs/80", "/hostports/pods/86"} { // another's prefix may be inside ours
			p.put(t, key, `{"id":"x"}`)
		}
	}, func(t *testing.T, p place, store *etcd3.Store) {
		want := p.values(t)
		for _, key := range []string{"/hostports/m/80", "/hostports/m/81", "/hostports/m/83", "/hostports/m/85", "/hostports/other/82"} {
			assert.Contains(t, want, key)
			delete(want, key)
		}
		require.NoError(t, store.Reconcile())
		assert.Equal(t, want, p.values(t))
		calls := count(p.client)
		require.NoError(t, p.storeOver(t, calls).Reconcile())
		assert.False(t, slices.ContainsFunc(calls.since(0), mayWrite))
	})
}

// A host port whose task is gone is free all the same.
func TestAHostPortWhoseTaskIsGoneCanBeTaken(t *testing.T) {
	t.Parallel()
	both(t, func(p place, before *etcd3.Store) {
		commit(t, before, storage.Create(taskOn("m", "gone", 80)))
		p.remove(t, "/pods/default/gone")
	}, func(t *testing.T, p place, store *etcd3.Store) {
		machine := storagetest.FirstFree(t, store, []string{"m"}, taskOn("", "next", 80))
		assert.Equal(t, "m", machine)
		commit(t, store, storage.Create(taskOn("m", "next", 80)))
		assert.Equal(t, "/pods/default/next", p.values(t)["/hostports/m/80"])
		requireConsistent(t, p)
	})
}

// What has changed since Reconcile has looked is left as it is.
func TestReconcileLeavesWhatHasComeBackMeanwhile(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(t *testing.T, p place, other *etcd3.Store)
		owner  string
	}{
		"the task": {func(t *testing.T, _ place, other *etcd3.Store) {
			commit(t, other, storage.Create(taskOn("m", "gone", 80)))
		}, "gone"},
		"the task, by another program": {func(t *testing.T, p place, _ *etcd3.Store) {
			p.put(t, "/pods/default/gone", `{"currentState":{"host":"m"},"desiredState":{"manifest":{"containers":[{"ports":[{"hostPort":80}]}]}}}`)
		}, "gone"},
		"the host port, to another one": {func(t *testing.T, _ place, other *etcd3.Store) {
			commit(t, other, storage.Create(taskOn("m", "next", 80)))
		}, "next"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shared(t)
			other := p.store(t)
			commit(t, other, storage.Create(taskOn("m", "gone", 80)))
			p.remove(t, "/pods/default/gone")
			version(t, other)
			store := p.storeOver(t, &around{Client: p.client, do: func(op clientv3.Op, call func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error) {
				if mayWrite(op) {
					row.change(t, p, other)
				}
				return call()
			}})
			require.NoError(t, store.Reconcile())
			assert.Equal(t, "/pods/default/"+row.owner, p.values(t)["/hostports/m/80"])
			requireConsistent(t, p)
		})
	}
}

// While etcd hangs, each call takes its time.
func TestReconcileEndsWithTheFirstFailure(t *testing.T) {
	t.Parallel()
	p := shared(t)
	p.put(t, "/hostports/m/80", "/pods/default/gone")
	p.put(t, "/hostports/m/81", "/pods/default/gone")
	tried := 0
	store := p.storeOver(t, &around{Client: p.client, do: func(op clientv3.Op, call func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error) {
		if mayWrite(op) {
			tried++
			return clientv3.OpResponse{}, etcdtest.ErrLost
		}
		return call()
	}})
	err := store.Reconcile()
	requireKind(t, api.Unavailable, err)
	assert.EqualError(t, err, "delete the key of a claim: the store cannot be reached")
	assert.Equal(t, 1, tried)
}
