package memory

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/storagetest"
)

func TestTheStoreInMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Harness{
		Make:   func(*testing.T) storage.Interface { return New(1000) },
		Atomic: true,
		Forget: storagetest.ForgetByWriting,
	})
}

// Here the other process is a second user of the same store.
func TestTheContractHoldsForSeveralProcesses(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Harness{
		Make:    func(*testing.T) storage.Interface { return New(0) },
		Another: func(_ *testing.T, store storage.Interface) storage.Interface { return store },
		Atomic:  true,
		Slow:    true,
	})
}

func TestTheVersionsOfAStoreBeginAfterTheGivenOne(t *testing.T) {
	t.Parallel()
	store := New(1000)
	version, err := store.Version()
	require.NoError(t, err)
	assert.EqualValues(t, 1000, version)
}

// write writes an event with a TTL.
func write(t *testing.T, store *Store, id string, ttl time.Duration) {
	change := storage.Update(&api.Any{Kind: "events", ID: id, ObjectMeta: api.ObjectMeta{Namespace: "default"}}, storage.Any)
	change.TTL = ttl
	_, err := store.Commit(change)
	require.NoError(t, err)
}

// count returns how many events there are once everybody waits.
func count(t *testing.T, store *Store) int {
	synctest.Wait()
	list, err := store.List(storage.Selection{Kind: "events"})
	require.NoError(t, err)
	return len(list.Items)
}

func TestAnObjectEndsAtItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := New(1)
		watcher, err := store.Watch(storage.Selection{Kind: "events"}, 1)
		require.NoError(t, err)
		write(t, store, "x", time.Hour)
		time.Sleep(time.Hour - time.Millisecond)
		assert.Equal(t, 1, count(t, store))
		time.Sleep(time.Millisecond)
		assert.Zero(t, count(t, store))
		events, err := watcher.Next(t.Context())
		require.NoError(t, err)
		require.Len(t, events, 2)
		assert.Equal(t, storage.Deleted, events[1].Type)
		assert.EqualValues(t, 3, events[1].Version)
		assert.Empty(t, store.ends)
	})
}

func TestAnObjectEndsItsTimeAfterTheLastWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := New(1)
		for range 5 {
			write(t, store, "x", time.Hour)
			time.Sleep(59 * time.Minute)
			assert.Equal(t, 1, count(t, store))
		}
		time.Sleep(time.Minute)
		assert.Zero(t, count(t, store))
		write(t, store, "x", time.Hour)
		write(t, store, "x", 0)
		time.Sleep(100 * time.Hour)
		assert.Equal(t, 1, count(t, store))
		assert.Empty(t, store.ends)
	})
}

func TestNobodyWaitsForTheEndOfWhatIsGone(t *testing.T) {
	t.Parallel()
	store := New(1)
	for i := range 100 {
		id := fmt.Sprint("x", i)
		write(t, store, id, time.Hour)
		_, err := store.Commit(storage.Delete(api.DefaultKey("events", id), storage.Present))
		require.NoError(t, err)
	}
	assert.Empty(t, store.ends)
}

func TestAChangeThatFailsLetsNothingEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := New(1)
		write(t, store, "x", 2*time.Hour)
		sooner := storage.Update(&api.Any{Kind: "events", ID: "x", ObjectMeta: api.ObjectMeta{Namespace: "default"}}, storage.Present)
		sooner.TTL = time.Hour
		_, err := store.Commit(sooner, storage.Require(api.DefaultKey("events", "none")))
		require.Error(t, err)
		_, err = store.Commit(storage.Require(api.DefaultKey("events", "x")))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		assert.Equal(t, 1, count(t, store))
		time.Sleep(time.Hour)
		assert.Zero(t, count(t, store), "that it is there was only checked")
	})
}
