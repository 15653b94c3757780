package etcd2_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	goetcd "github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
	"kube2014/pkg/storage/storagetest"
)

// The store passes the contract suite, through two processes on one etcd. Other tests do
// not share it: the history of an etcd is for all who write to it.
func TestTheContractOfAStore(t *testing.T) {
	t.Parallel()
	for name, makeEtcd := range map[string]func(t *testing.T) etcdtest.Client{
		"fake": func(*testing.T) etcdtest.Client { return etcdtest.NewFake() },
		"etcd": func(t *testing.T) etcdtest.Client { return etcdtest.Own(t, etcd.New) },
	} {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			storagetest.Run(t, twoProcesses(makeEtcd))
		})
	}
}

// If every third look into etcd's history fails, the store often reads everything. It
// then cuts off whoever watches, and never skips a change.
func TestWhoIsCutOffMissesNothingElse(t *testing.T) {
	t.Parallel()
	storagetest.RunCutOff(t, twoProcesses(func(*testing.T) etcdtest.Client {
		var looks atomic.Int32
		return &etcdtest.Around{Client: etcdtest.NewFake(), Do: func(method, _ string, call func() (*goetcd.Response, error)) (*goetcd.Response, error) {
			if method == "Watch" && looks.Add(1)%3 == 0 {
				return nil, etcdtest.ErrLost
			}
			return call()
		}}
	}))
}

// twoProcesses is for the suite: two stores that follow one etcd.
func twoProcesses(makeEtcd func(t *testing.T) etcdtest.Client) storagetest.Harness {
	return storagetest.Harness{
		Make: func(t *testing.T) storage.Interface { return following(t.Context(), t, makeEtcd(t)) },
		Another: func(t *testing.T, store storage.Interface) storage.Interface {
			return following(t.Context(), t, store.(*etcd2.Store).Client())
		},
		ClaimsInDefault: true,
		CutsOff:         true,
		Slow:            true, // etcd keeps 1,000 changes
	}
}

// following returns a store that follows etcd until the context ends, which is before
// the test ends.
func following(ctx context.Context, t *testing.T, client etcd2.Client) *etcd2.Store {
	store := unhurried(client).store
	var group sync.WaitGroup
	group.Go(func() { store.Follow(ctx) })
	t.Cleanup(group.Wait)
	return store
}
