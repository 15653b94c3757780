package etcd2_test

import (
	"sync"
	"testing"

	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
	"kube2014/pkg/storage/storagetest"
)

// The store passes the contract suite, through two processes on one etcd. It is not a
// real etcd, because other tests share that, and its history is for all of them.
func TestTheContractOfAStore(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Harness{
		Make: func(t *testing.T) storage.Interface { return following(t, etcdtest.NewFake()) },
		Another: func(t *testing.T, store storage.Interface) storage.Interface {
			return following(t, store.(*etcd2.Store).Client())
		},
		Slow: true, // etcd keeps 1,000 changes
		// Several processes write as fast as they can there, and no watcher may be cut
		// off. On etcd one may be: while nobody has watched yet, a process that catches
		// up reads everything, and begins its history anew.
		Without: []string{
			"watchers that begin while others write miss nothing",
			"a list and the events after it lead to each later list",
			"a wait that is given up loses no event",
		},
	})
}

// following returns a store that follows etcd until the test ends.
func following(t *testing.T, client etcd2.Client) *etcd2.Store {
	store := unhurried(client).store
	var group sync.WaitGroup
	group.Go(func() { store.Follow(t.Context()) })
	t.Cleanup(group.Wait)
	return store
}
