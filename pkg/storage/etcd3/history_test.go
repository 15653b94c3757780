package etcd3_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
)

// administer returns a client for what an administrator of etcd does.
func (p place) administer(t *testing.T) *clientv3.Client {
	client, err := clientv3.New(clientv3.Config{Endpoints: p.servers, Logger: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

// compact lets etcd forget what happened before its present revision.
func (p place) compact(t *testing.T) {
	client := p.administer(t)
	present, err := client.Get(t.Context(), "x")
	require.NoError(t, err)
	_, err = client.Compact(t.Context(), present.Header.Revision)
	require.NoError(t, err)
}

// foreign makes changes that no store has to do with.
func (p place) foreign(t *testing.T, n int) {
	for range n {
		p.do(t, clientv3.OpPut("/elsewhere", "1"))
	}
}

// inWords tells what an event says of a service.
func inWords(event storage.Event) string {
	port := func(object *storage.Object) string {
		if object == nil {
			return "none"
		}
		return fmt.Sprint(object.Object.(*api.Service).Port)
	}
	id := ""
	for _, object := range []*storage.Object{event.Before, event.After} {
		if object != nil {
			id = object.Key().ID
		}
	}
	return fmt.Sprintf("%s %s %s→%s", event.Type, id, port(event.Before), port(event.After))
}

// next returns the next n events of a watcher, which get no more at once.
func next(t *testing.T, watcher storage.Watcher, n int) (seen []string) {
	for len(seen) < n {
		events, err := watcher.Next(t.Context())
		require.NoError(t, err)
		for _, event := range events {
			seen = append(seen, inWords(event))
		}
	}
	return seen
}

func watch(t *testing.T, store storage.Reader, after uint64) storage.Watcher {
	watcher, err := store.Watch(storage.Selection{Kind: api.ServiceKind}, after)
	require.NoError(t, err)
	return watcher
}

func TestWatchersGoOnWhenEtcdIsCompacted(t *testing.T) {
	t.Parallel()
	p := own(t)
	store := p.store(t)
	commit(t, store, storage.Create(service("x", 1)))
	start := version(t, store)
	behind, ahead := watch(t, store, start), watch(t, store, start)
	commit(t, store, storage.Update(service("x", 2), storage.Present))
	assert.Equal(t, []string{"MODIFIED x 1→2"}, next(t, ahead, 1))
	p.compact(t)
	commit(t, store, storage.Update(service("x", 3), storage.Present))
	assert.Equal(t, []string{"MODIFIED x 2→3"}, next(t, ahead, 1))
	assert.Equal(t, []string{"MODIFIED x 1→2", "MODIFIED x 2→3"}, next(t, behind, 2))
	assert.Equal(t, []string{"MODIFIED x 1→2"}, next(t, watch(t, store, start), 2)[:1], "this process still knows it")
	list, err := store.ListAt(storage.Selection{Kind: api.ServiceKind}, start)
	require.NoError(t, err)
	assert.Equal(t, 1, list.Items[0].Object.(*api.Service).Port)

	late := p.store(t)
	_, err = late.Watch(storage.Selection{Kind: api.ServiceKind}, start)
	requireKind(t, api.Expired, err)
	_, err = late.ListAt(storage.Selection{Kind: api.ServiceKind}, start)
	requireKind(t, api.Expired, err)
	commit(t, late, storage.Update(service("x", 4), storage.Present))
	assert.Equal(t, []string{"MODIFIED x 3→4"}, next(t, ahead, 1))
}

func TestAStoreWhoseWatchBreaksWhileEtcdIsCompactedCutsOffItsWatchers(t *testing.T) {
	t.Parallel()
	p := own(t)
	client := p.connect(t)
	ends := make(chan context.CancelFunc, 100)
	goOn := make(chan struct{})
	isFirst := true
	store := p.storeOver(t, &around{Client: client, watch: func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
		if !isFirst {
			waitFor(ctx, goOn)
		}
		isFirst = false
		ctx, end := context.WithCancel(ctx)
		ends <- end
		return client.Watch(ctx, prefix, revision)
	}})
	commit(t, store, storage.Create(service("x", 1)))
	start := version(t, store)
	watcher := watch(t, store, start)
	(<-ends)()
	p.put(t, "/services/specs/default/x", `{"port":2}`)
	p.put(t, "/services/specs/default/x", `{"port":3}`)
	p.compact(t)
	close(goOn)
	_, err := watcher.Next(t.Context())
	for err == nil { // it may have seen the first changes
		_, err = watcher.Next(t.Context())
	}
	requireKind(t, api.Expired, err)
	assert.Equal(t, 3, portOf(t, store, "x"))
	_, err = store.Watch(storage.Selection{Kind: api.ServiceKind}, start)
	requireKind(t, api.Expired, err)
	watcher = watch(t, store, version(t, store))
	commit(t, store, storage.Update(service("x", 4), storage.Present))
	assert.Equal(t, []string{"MODIFIED x 3→4"}, next(t, watcher, 1))
}

func TestANewProcessServesWhatHappenedBeforeItsStart(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		happens func(t *testing.T, p place, before *process)
		want    []string
	}{
		"a life": {func(t *testing.T, _ place, before *process) {
			before.write("y", 1)
			before.write("y", 2)
			commit(t, before, storage.Delete(api.DefaultKey(api.ServiceKind, "y"), storage.Present))
			before.write("y", 3)
		}, []string{"ADDED y none→1", "MODIFIED y 1→2", "DELETED y 2→none", "ADDED y none→3"}},
		"what was there": {func(t *testing.T, _ place, before *process) {
			before.write("x", 8)
			commit(t, before, storage.Delete(api.DefaultKey(api.ServiceKind, "x"), storage.Present))
		}, []string{"MODIFIED x 7→8", "DELETED x 8→none"}},
		"several at once": {func(t *testing.T, _ place, before *process) {
			commit(t, before, storage.Create(service("a", 1)), storage.Create(taskOn("m1", "a", 80)), storage.Delete(api.DefaultKey(api.ServiceKind, "x"), storage.Present))
		}, []string{"ADDED a none→1", "DELETED x 7→none"}},
		"others write at the same time, and last": {func(t *testing.T, p place, before *process) {
			p.foreign(t, 3)
			before.write("x", 8)
			p.foreign(t, 3)
		}, []string{"MODIFIED x 7→8"}},
		"only others write": {func(t *testing.T, p place, _ *process) { p.foreign(t, 3) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := own(t)
			before := &process{p.store(t), t}
			before.write("x", 7)
			start := version(t, before)
			row.happens(t, p, before)
			late := &process{p.store(t), t}
			watcher := watch(t, late, start)
			late.write("end", 1)
			seen := next(t, watcher, len(row.want)+1)
			assert.ElementsMatch(t, append(row.want, "ADDED end none→1"), seen)
			assert.Equal(t, "ADDED end none→1", seen[len(seen)-1])
			again := watch(t, before, start)
			assert.ElementsMatch(t, seen, next(t, again, len(seen)), "the first process says the same")

			list, err := late.ListAt(storage.Selection{Kind: api.ServiceKind}, start)
			require.NoError(t, err)
			require.Len(t, list.Items, 1)
			assert.Equal(t, start, list.Version)
			assert.Equal(t, 7, list.Items[0].Object.(*api.Service).Port)
		})
	}
}

// process is a store of which a test writes services.
type process struct {
	storage.Interface
	t *testing.T
}

func (p *process) write(id string, port int) *storage.Object {
	return commit(p.t, p, storage.Update(service(id, port), storage.Any))[0]
}

// ListAt goes to etcd for what a process does not know, until that is compacted.
func TestAListOfAVersionBeforeTheStartOfAProcess(t *testing.T) {
	t.Parallel()
	p := own(t)
	before := &process{p.store(t), t}
	first := before.write("x", 1).Version()
	second := before.write("x", 2).Version()
	p.put(t, "/services/specs/default/x", "no JSON")
	third := version(t, before)
	late := p.store(t)
	for version, port := range map[uint64]int{first: 1, second: 2, third: 0} {
		list, err := late.ListAt(storage.Selection{Kind: api.ServiceKind}, version)
		require.NoError(t, err)
		assert.Equal(t, version, list.Version)
		if port == 0 {
			assert.Empty(t, list.Items, "what cannot be decoded is left out")
			continue
		}
		require.Len(t, list.Items, 1)
		assert.Equal(t, port, list.Items[0].Object.(*api.Service).Port)
		assert.Equal(t, version, list.Items[0].Version())
		assert.Equal(t, first, list.Items[0].Meta().CreationVersion)
	}
	for _, never := range []uint64{0, version(t, late) + 1, 1 << 40, 1 << 63} {
		_, err := late.ListAt(storage.Selection{Kind: api.ServiceKind}, never)
		requireKind(t, api.Expired, err)
	}
	p.compact(t)
	_, err := late.ListAt(storage.Selection{Kind: api.ServiceKind}, first)
	requireKind(t, api.Expired, err)
}

// Version 0 is none that etcd has had, and not the present one, as it is for etcd itself.
func TestNobodyWatchesFromBeforeTheFirstVersion(t *testing.T) {
	t.Parallel()
	p := own(t)
	store := &process{p.store(t), t}
	store.write("x", 1)
	for _, reader := range []storage.Reader{store, store.Cached(), p.store(t)} {
		version(t, store)
		_, err := reader.Watch(storage.Selection{Kind: api.ServiceKind}, 0)
		requireKind(t, api.Expired, err)
		_, err = reader.Watch(storage.Selection{Kind: api.ServiceKind}, 1<<63)
		requireKind(t, api.Expired, err)
	}
}

// A watcher is not given a part of what happened: of more than the history holds, nothing.
func TestAWatcherGetsAllOrIsToldThatThereIsMore(t *testing.T) {
	t.Parallel()
	p := own(t)
	start := uint64(p.put(t, "/services/specs/default/x", "{}"))
	for i := range 80 { // each with as many changes as etcd makes together
		var puts []clientv3.Op
		for j := range 128 {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("%s/services/specs/default/%d", p.prefix, j), fmt.Sprintf(`{"port":%d}`, i+1)))
		}
		p.do(t, clientv3.OpTxn(nil, puts, nil))
	}
	store := p.store(t)
	_, err := store.Watch(storage.Selection{Kind: api.ServiceKind}, start)
	requireKind(t, api.Expired, err)
	watcher := watch(t, store, start+40)
	events, err := watcher.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, start+41, events[0].Version)
}

// What takes several calls to read is as of one moment, and read again if etcd forgets that
// meanwhile.
func TestAllIsReadAtOneMomentOrAgain(t *testing.T) {
	t.Parallel()
	p := own(t)
	client := p.connect(t)
	for i := range 5 {
		var puts []clientv3.Op
		for j := range 128 {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("%s/services/specs/default/%d", p.prefix, i*128+j), `{"port":1}`))
		}
		p.do(t, clientv3.OpTxn(nil, puts, nil))
	}
	interfered := 0
	seen := count(&around{Client: client, watch: watches[hopeless](client)}) // only the test reads a second time
	keep := seen.do
	seen.do = func(op clientv3.Op, call func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error) {
		if interfered < 2 && strings.HasSuffix(string(op.KeyBytes()), "\x00") { // the second call
			if interfered++; interfered == 2 {
				p.put(t, "/services/specs/default/0", `{"port":2}`)
				p.put(t, "/services/specs/default/9999", `{"port":2}`)
				p.compact(t)
			}
		}
		return keep(op, call)
	}
	store := p.storeOver(t, seen)
	require.Len(t, idsIn(t, store, api.ServiceKind), 640)
	p.put(t, "/services/specs/default/new", `{"port":1}`)
	assert.Len(t, idsIn(t, store, api.ServiceKind), 642)
	require.Equal(t, 2, interfered)
	assert.Equal(t, 2, portOf(t, store, "0"))
	_, err := p.administer(t).Get(t.Context(), "x", clientv3.WithRev(2))
	assert.ErrorIs(t, err, rpctypes.ErrCompacted)
}

// Who begins to watch does not wait for etcd to answer others first.
func TestWatchesDoNotWaitForEachOtherWithoutBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const before, now = 1, 2
		answered := make(chan struct{})
		store := etcd3.New(&around{watch: silentWatch, do: func(op clientv3.Op, _ func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error) {
			if op.Rev() == before {
				<-answered
			}
			return (&clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: now}}).OpResponse(), nil
		}}, "/registry")
		defer store.Close()
		require.EqualValues(t, now, version(t, store))
		first := make(chan error)
		go func() {
			_, err := store.Watch(storage.Selection{Kind: api.ServiceKind}, before)
			first <- err
		}()
		synctest.Wait() // etcd is asked what there was before
		_, err := store.Watch(storage.Selection{Kind: api.ServiceKind}, before)
		requireKind(t, api.Expired, err)
		close(answered)
		requireKind(t, api.Expired, <-first)
	})
}
