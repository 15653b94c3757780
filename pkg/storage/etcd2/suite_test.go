package etcd2_test

import (
	"sync"
	"testing"

	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
	"kube2014/pkg/storage/storagetest"
)

// cannotPass are the tests that the store cannot pass: endpoints are written with etcd's
// action set, which gives them another creation, because the proxy reacts to nothing
// else; and a task does not move, because that would be a deletion and a creation.
var cannotPass = []string{
	"watchers that begin while others write miss nothing",
	"a change has the outcome that its expected version demands",
	"an object has the version of its last change and that of its creation",
	"an object keeps its uid until it is deleted",
	"a list and the events after it lead to each later list",
	"the owners of host ports agree with a model after random changes",
	"a host port of a machine has one owner",
}

// The store passes the contract suite, through two processes on one etcd too.
func TestTheContractOfAStore(t *testing.T) {
	t.Parallel()
	for name, makeEtcd := range etcds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storagetest.Run(t, storagetest.Harness{
				Make: func(t *testing.T) storage.Interface { return following(t, makeEtcd(t)) },
				Another: func(t *testing.T, store storage.Interface) storage.Interface {
					return following(t, store.(*etcd2.Store).Client())
				},
				Without: cannotPass,
				Slow:    true, // etcd keeps 1,000 changes
			})
		})
	}
}

// following returns a store that follows etcd until the test ends.
func following(t *testing.T, client etcd2.Client) *etcd2.Store {
	store := unhurried(client).store
	var group sync.WaitGroup
	group.Go(func() { store.Follow(t.Context()) })
	t.Cleanup(group.Wait)
	return store
}
