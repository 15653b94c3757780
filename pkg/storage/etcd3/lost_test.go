package etcd3_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
)

// losing is an etcd that a test can let lose its data.
type losing struct {
	place
	server *etcdtest.Server
	dir    string
}

func makeLosing(t *testing.T) losing {
	dir := t.TempDir()
	servers, err := etcdtest.Setup{}.Start(dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, servers[0].Kill()) })
	return losing{place{servers: []string{servers[0].URL}, prefix: "/registry"}, servers[0], dir}
}

// lose lets another etcd begin at the address, without data.
func (l losing) lose(t *testing.T) { l.become(t, t.TempDir()) }

// become lets another etcd begin at the address, with the data in a directory.
func (l losing) become(t *testing.T, data string) {
	require.NoError(t, l.server.Kill())
	all, err := filepath.Glob(filepath.Join(l.dir, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, path := range all {
		require.NoError(t, os.RemoveAll(path))
	}
	require.NoError(t, os.CopyFS(l.dir, os.DirFS(data)))
	l.restart(t)
}

func (l losing) restart(t *testing.T) {
	require.NoError(t, l.server.Restart())
	require.NoError(t, l.server.Ready())
}

// backup returns a copy of the data.
func (l losing) backup(t *testing.T) (dir string) {
	dir = t.TempDir()
	require.NoError(t, l.server.Kill())
	require.NoError(t, os.CopyFS(dir, os.DirFS(l.dir)))
	l.restart(t)
	return dir
}

// untilAnswered repeats a request until etcd can be reached again.
func untilAnswered(request func() error) error {
	for {
		if err := request(); api.KindOf(err) != api.Unavailable {
			return err
		}
	}
}

func TestAnEtcdThatHasLostItsDataIsReadAnew(t *testing.T) {
	t.Parallel()
	etcd := makeLosing(t)
	store := etcd.store(t)
	commit(t, store, storage.Create(service("same", 1)))
	for i := range 5 {
		commit(t, store, storage.Update(service("gone", i), storage.Any))
	}
	before := version(t, store)
	watcher, err := store.Watch(storage.Selection{Kind: api.ServiceKind}, before)
	require.NoError(t, err)
	etcd.lose(t)
	etcd.put(t, "/services/specs/default/same", `{"id":"same","port":2}`) // at the revision of its namesake

	require.NoError(t, untilAnswered(func() error { _, err := store.Version(); return err }))
	assert.Equal(t, 2, portOf(t, store, "same"))
	for _, reader := range []storage.Reader{store, store.Cached()} {
		assert.Equal(t, []string{"same"}, idsIn(t, reader, api.ServiceKind))
		assert.Less(t, version(t, reader), before)
		_, err = reader.Watch(storage.Selection{Kind: api.ServiceKind}, before)
		requireKind(t, api.Expired, err)
		_, err = reader.ListAt(storage.Selection{Kind: api.ServiceKind}, before)
		requireKind(t, api.Expired, err)
	}
	_, err = watcher.Next(t.Context())
	requireKind(t, api.Expired, err)

	watcher, err = store.Watch(storage.Selection{Kind: api.ServiceKind}, version(t, store))
	require.NoError(t, err)
	commit(t, store, storage.Create(service("new", 1)))
	events, err := watcher.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "new", events[0].After.Key().ID)
}

// A write that is tried on what was cached finds it out too.
func TestAnEtcdThatHasLostItsDataIsWrittenTo(t *testing.T) {
	t.Parallel()
	etcd := makeLosing(t)
	store := etcd.store(t)
	for i := range 5 {
		commit(t, store, storage.Update(service("x", i), storage.Any))
	}
	watcher, err := store.Watch(storage.Selection{Kind: api.ServiceKind}, version(t, store))
	require.NoError(t, err)
	etcd.lose(t)
	err = untilAnswered(func() error { _, err := store.Commit(storage.Update(service("x", 7), storage.Present)); return err })
	requireKind(t, api.NotFound, err)
	assert.Empty(t, etcd.values(t))
	_, err = watcher.Next(t.Context())
	requireKind(t, api.Expired, err)
	commit(t, store, storage.Create(service("x", 8)))
	assert.Equal(t, 8, portOf(t, store, "x"))
}

// Cached does not show for ever what a read has found in the etcd that is gone.
func TestWhatWasFoundInAnEtcdThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	etcd := makeLosing(t)
	store := etcd.storeOver(t, silent(etcd.connect(t)))
	store.SetWatchPatience(0)
	commit(t, store, storage.Create(service("x", 1)))
	commit(t, etcd.store(t), storage.Create(service("y", 1)))
	require.Equal(t, []string{"x", "y"}, idsIn(t, store, api.ServiceKind))
	require.Equal(t, []string{"x", "y"}, idsIn(t, store.Cached(), api.ServiceKind))
	etcd.lose(t)
	require.NoError(t, untilAnswered(func() error { _, err := store.Version(); return err }))
	assert.Empty(t, idsIn(t, store, api.ServiceKind))
	assert.Empty(t, idsIn(t, store.Cached(), api.ServiceKind))
}

// Nothing in an answer tells that: its revision is not lower than the last one.
func TestAnEtcdThatWasRestoredAndHasMovedOnIsReadAnew(t *testing.T) {
	t.Parallel()
	etcd := makeLosing(t)
	var gate sync.RWMutex
	client := etcd.connect(t)
	store := etcd.storeOver(t, &around{Client: client, do: func(_ clientv3.Op, call func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error) {
		gate.RLock()
		defer gate.RUnlock()
		return call()
	}})
	commit(t, store, storage.Create(service("old", 1)))
	backup := etcd.backup(t)
	require.NoError(t, untilAnswered(func() error { _, err := store.Version(); return err }))
	commit(t, store, storage.Delete(api.DefaultKey(api.ServiceKind, "old"), storage.Present))
	commit(t, store, storage.Create(service("lost", 1)))
	before := version(t, store)
	watcher, err := store.Watch(storage.Selection{Kind: api.ServiceKind}, before)
	require.NoError(t, err)

	gate.Lock()
	etcd.become(t, backup)
	for {
		if now := etcd.put(t, "/elsewhere", "x"); now > int64(before)+5 {
			break
		}
	}
	gate.Unlock()
	_, err = watcher.Next(t.Context())
	requireKind(t, api.Expired, err)
	require.NoError(t, untilAnswered(func() error { _, err := store.Version(); return err }))
	for _, reader := range []storage.Reader{store, store.Cached()} {
		assert.Equal(t, []string{"old"}, idsIn(t, reader, api.ServiceKind))
	}
	_, err = store.Commit(storage.Delete(api.DefaultKey(api.ServiceKind, "lost"), storage.Present))
	requireKind(t, api.NotFound, err)
	commit(t, store, storage.Create(service("lost", 2)))
}
