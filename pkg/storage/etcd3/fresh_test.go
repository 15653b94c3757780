package etcd3_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/storage/storagetest"
)

// hopeless is a watch that cannot be told from a good one by what it says. That it is dead,
// its connection finds out.
const hopeless = "it shows nothing, and tells nobody so"

// watches are what can be wrong with a store's watches of etcd.
var watches = map[string]func(client etcd3.Client) watchFunc{
	"it shows nothing": func(etcd3.Client) watchFunc { return silentWatch },
	"it tells nobody how far it is": func(client etcd3.Client) watchFunc {
		return func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
			responses, _ := client.Watch(ctx, prefix, revision)
			return responses, func(context.Context) error { return etcd.ErrEarlyProgress }
		}
	},
	hopeless: func(etcd3.Client) watchFunc {
		return func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
			responses, _ := silentWatch(ctx, prefix, revision)
			return responses, func(context.Context) error { return errors.New("broken") }
		}
	},
	"it ends at once": func(etcd3.Client) watchFunc {
		return func(context.Context, string, int64) (clientv3.WatchChan, func(context.Context) error) {
			responses := make(chan clientv3.WatchResponse)
			close(responses)
			return responses, func(context.Context) error { return errors.New("broken") }
		}
	},
}

// Whatever the watch does, a read has what was acknowledged before it, and what is cached
// is not older than what was read.
func TestReadsAreNeverStale(t *testing.T) {
	t.Parallel()
	for name, watch := range watches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shared(t)
			client := p.connect(t)
			store := p.storeOver(t, &around{Client: client, watch: watch(client)})
			store.SetWatchPatience(0)
			other := &process{p.store(t), t}
			for i := range 3 {
				written := other.write("x", i+1)
				assert.Equal(t, i+1, portOf(t, store, "x"))
				assert.Equal(t, i+1, portOf(t, store.Cached(), "x"))
				cached := version(t, store.Cached())
				assert.GreaterOrEqual(t, cached, written.Version())
				list, err := store.List(storage.Selection{Kind: api.ServiceKind})
				require.NoError(t, err)
				assert.GreaterOrEqual(t, version(t, store.Cached()), list.Version)
				fromCache, err := store.Cached().List(storage.Selection{Kind: api.ServiceKind})
				require.NoError(t, err)
				assert.GreaterOrEqual(t, fromCache.Version, list.Version)

				commit(t, other, storage.Update(taskOn("m", "x", 80+i), storage.Any))
				machine := storagetest.FirstFree(t, store, []string{"m", "n"}, taskOn("", "y", 80+i))
				assert.Equal(t, "n", machine)
				machine = storagetest.FirstFree(t, store.Cached(), []string{"m", "n"}, taskOn("", "y", 80+i))
				assert.Equal(t, "n", machine)
			}
			_, err := store.Commit(storage.Update(service("x", 9), 1))
			requireKind(t, api.Conflict, err)
			commit(t, store, storage.Delete(api.DefaultKey(api.ServiceKind, "x"), storage.Present))
			_, err = store.Get(api.DefaultKey(api.ServiceKind, "x"))
			requireKind(t, api.NotFound, err)
		})
	}
}

// A client that has read from etcd, not from the cache, can watch from there on.
func TestAWatchFromTheVersionOfSuchAReadGetsEachLaterChangeOnce(t *testing.T) {
	t.Parallel()
	for name, firstWatch := range watches {
		if name == hopeless {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shared(t)
			client := p.connect(t)
			var begun atomic.Int32 // watches
			healed := make(chan struct{})
			store := p.storeOver(t, &around{Client: client, watch: func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
				if begun.Add(1) == 1 {
					return firstWatch(client)(ctx, prefix, revision)
				}
				waitFor(ctx, healed)
				return client.Watch(ctx, prefix, revision)
			}})
			store.SetWatchPatience(0)
			other := &process{p.store(t), t}
			other.write("x", 1)
			require.Equal(t, 1, portOf(t, store, "x"))
			other.write("x", 2)
			list, err := store.List(storage.Selection{Kind: api.ServiceKind})
			require.NoError(t, err)
			cached, err := store.Cached().Watch(storage.Selection{Kind: api.ServiceKind}, list.Version)
			require.NoError(t, err)
			direct := watch(t, store, list.Version)
			close(healed)
			other.write("x", 3)
			other.write("x", 4)
			for _, watcher := range []storage.Watcher{cached, direct} {
				assert.Equal(t, []string{"MODIFIED x 2→3", "MODIFIED x 3→4"}, next(t, watcher, 2))
			}
			assert.Equal(t, 4, portOf(t, store, "x"))
			_, err = store.Cached().Watch(storage.Selection{Kind: api.ServiceKind}, version(t, other)+1000000)
			requireKind(t, api.Expired, err)
		})
	}
}

// A watch that shows nothing is replaced by another one.
func TestAnotherWatchBeginsWhenOneShowsNothing(t *testing.T) {
	t.Parallel()
	p := shared(t)
	client := p.connect(t)
	isFirst, begun := true, make(chan int64, 100) // the revisions
	store := p.storeOver(t, &around{Client: client, watch: func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
		begun <- revision
		if isFirst {
			isFirst = false
			return silentWatch(ctx, prefix, revision)
		}
		return client.Watch(ctx, prefix, revision)
	}})
	store.SetWatchPatience(0)
	other := &process{p.store(t), t}
	start := version(t, store)
	other.write("x", 1)
	assert.Equal(t, 1, portOf(t, store, "x"))
	assert.Equal(t, <-begun, <-begun, "it begins where the first one was")
	assert.Equal(t, []string{"ADDED x none→1"}, next(t, watch(t, store, start), 1), "nobody is cut off")
}

// A watch that takes long is not replaced: that would take longer.
func TestAWatchThatIsSlowGoesOn(t *testing.T) {
	t.Parallel()
	type slowWatch func(ctx context.Context, original clientv3.WatchChan, enough <-chan struct{}) (clientv3.WatchChan, func(context.Context) error)
	for name, slow := range map[string]slowWatch{
		"it begins late": func(ctx context.Context, original clientv3.WatchChan, enough <-chan struct{}) (clientv3.WatchChan, func(context.Context) error) {
			waitFor(ctx, enough)
			return original, func(context.Context) error { return nil }
		},
		"it is behind": func(ctx context.Context, original clientv3.WatchChan, _ <-chan struct{}) (clientv3.WatchChan, func(context.Context) error) {
			var events []*clientv3.Event
			shown := make(chan clientv3.WatchResponse)
			context.AfterFunc(ctx, func() { close(shown) })
			return shown, func(context.Context) error {
				for len(events) == 0 {
					response, ok := <-original
					if !ok {
						return errors.New("the watch has ended")
					}
					events = response.Events
				}
				shown <- clientv3.WatchResponse{Events: events[:1]}
				shown <- clientv3.WatchResponse{} // who takes this has applied the one before
				events = events[1:]
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := own(t)
			other := &process{p.store(t), t}
			other.write("x", 1)
			var begun atomic.Int32
			enough := make(chan struct{})
			store := p.storeOver(t, &around{Client: p.client, watch: func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
				begun.Add(1)
				original, _ := p.client.Watch(ctx, prefix, revision)
				return slow(ctx, original, enough)
			}})
			defer close(enough)
			store.SetWatchPatience(0)
			require.Equal(t, 1, portOf(t, store, "x"))
			for i := range 10 {
				other.write("x", i)
			}
			for i := range 4 {
				other.write("x", 100+i)
				assert.Equal(t, 100+i, portOf(t, store, "x"))
			}
			assert.EqualValues(t, 1, begun.Load())
		})
	}
}

// What others write moves etcd's revision, but no read goes to etcd for more than that.
func TestAReadTakesOneCallAlsoWhileOthersWrite(t *testing.T) {
	t.Parallel()
	p := own(t)
	calls := count(p.connect(t))
	store := p.storeOver(t, calls)
	other := &process{p.store(t), t}
	version(t, store)
	before := len(calls.since(0))
	for i := range 20 {
		p.foreign(t, 1)
		version(t, store)
		other.write("x", i)
		assert.Equal(t, i, portOf(t, store, "x"))
	}
	made := calls.since(before)
	assert.Len(t, made, 40)
	for _, op := range made {
		assert.True(t, op.IsCountOnly())
	}
}

// Where nothing tells how far a watch is, what one read has found serves the next ones,
// until somebody writes.
func TestWhatAReadHasFoundInEtcdServesTheNextOnes(t *testing.T) {
	t.Parallel()
	p := own(t)
	calls := count(p.connect(t))
	calls.watch = watches["it tells nobody how far it is"](calls.Client)
	store := p.storeOver(t, calls)
	version(t, store)
	p.foreign(t, 1)
	before := len(calls.since(0))
	for range 20 {
		version(t, store)
	}
	whole := 0
	for _, op := range calls.since(before) {
		if !op.IsCountOnly() {
			whole++
		}
	}
	assert.Equal(t, 1, whole)
}

// An etcd of 3.4 does not tell how far a watch is, and reads go to it.
func TestReadsOfEtcd34AreNeverStale(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make long runs etcd 3.4")
	}
	p, _ := started(t, etcdtest.Setup{Version: "3.4"})
	calls := count(p.connect(t))
	store, other := p.storeOver(t, calls), &process{p.store(t), t}
	watcher := watch(t, store, version(t, store))
	for i := range 10 {
		p.foreign(t, 2)
		written := other.write("x", i+1)
		p.foreign(t, i%2)
		assert.Equal(t, i+1, portOf(t, store, "x"))
		assert.GreaterOrEqual(t, version(t, store.Cached()), written.Version())
	}
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprintf("MODIFIED x %d→%d", i, i+1))
	}
	want[0] = "ADDED x none→1"
	assert.Equal(t, want, next(t, watcher, 10))
	assert.True(t, slices.ContainsFunc(calls.since(2), func(op clientv3.Op) bool { return !op.IsCountOnly() }), "reads have gone to etcd")
}
