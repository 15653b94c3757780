package resourcequota

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

const tenPods = `{"pods":"10"}`

func TestOfManyCreatesAsManySucceedAsThereArePlaces(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		servers := []*server{newServer(t, connect(), few("q", tenPods)), newServer(t, connect(), few("q", tenPods))}
		for round, some := range [][]*server{servers[:1], servers} { // one process, then two
			errs := make([]error, 64)
			var group sync.WaitGroup
			for i := range errs {
				group.Go(func() { errs[i] = some[i%len(some)].create(t.Context(), fmt.Sprintf("x%d", i)) })
			}
			group.Wait()
			created := 0
			for i, err := range errs {
				if err == nil {
					created++
					continue
				}
				assert.EqualError(t, err, fmt.Sprintf(`pods "x%d" is forbidden: exceeded quota: q, requested: pods=1, used: pods=10, limited: pods=10`, i))
			}
			assert.Equal(t, 10, created)
			assert.Zero(t, reservations(t, servers[0]), "round %d", round)
			ids := idsIn(t, servers[0])
			require.Len(t, ids, 10)
			for _, id := range ids {
				require.NoError(t, servers[1].delete(id))
			}
		}
	})
}

// While two servers create, create the same, and delete, somebody watches.
func TestThereAreNeverMoreThanAllowed(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		const hard, writers, rounds = 3, 8, 12
		servers := []*server{newServer(t, connect(), few("q", `{"pods":"3"}`)), newServer(t, connect(), few("q", `{"pods":"3"}`))}
		start, err := servers[0].Version()
		require.NoError(t, err)
		var mu sync.Mutex
		made := 0
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				s := servers[w%len(servers)]
				for i := range rounds {
					id := fmt.Sprint("x", (w*7+i*5)%9)
					err := s.create(t.Context(), id)
					deleted := err == nil && s.delete(id) == nil
					assert.True(t, err == nil || apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err), "%v", err)
					mu.Lock()
					if err == nil {
						made++
					}
					if deleted {
						made++
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		require.Positive(t, made)
		watcher, err := servers[0].Watch(storage.Selection{Kind: api.TaskKind}, start)
		require.NoError(t, err)
		for count := 0; made > 0; {
			events, err := watcher.Next(t.Context())
			require.NoError(t, err)
			for _, event := range events {
				made--
				switch event.Type {
				case storage.Added:
					count++
				case storage.Deleted:
					count--
				}
				assert.LessOrEqual(t, count, hard)
			}
		}
		assert.Empty(t, idsIn(t, servers[0]))
		assert.Zero(t, reservations(t, servers[1]))
		for i := range hard {
			require.NoError(t, servers[i%2].create(t.Context(), fmt.Sprint("y", i)), "all places are free again")
		}
		assert.Error(t, servers[0].create(t.Context(), "y"))
	})
}

func TestRequestsOfOneObjectTakeOnePlaceAndEachItsOwnReservation(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		a, b := newServer(t, connect(), few("q", `{"pods":"1"}`)), newServer(t, connect(), few("q", `{"pods":"1"}`))
		first, err := a.reserve(t.Context(), "x")
		require.NoError(t, err)
		second, err := b.reserve(t.Context(), "x")
		require.NoError(t, err, "it is the same place")
		assert.Equal(t, 2, reservations(t, a))
		first.End(apierrors.NewAlreadyExists(pods, "x"))
		assert.Equal(t, 1, reservations(t, b))
		assert.True(t, apierrors.IsForbidden(a.create(t.Context(), "y")), "the other may still create it")
		second.End(apierrors.NewBadRequest("x"))
		assert.NoError(t, a.create(t.Context(), "y"))
	})
}

// K50.
func TestAPlaceIsFreeWhenItsObjectIsDeletedOrNotStored(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		a, b := newServer(t, connect(), few("q", `{"pods":"2"}`)), newServer(t, connect(), few("q", `{"pods":"2"}`))
		require.NoError(t, a.create(t.Context(), "x"))
		assert.True(t, apierrors.IsAlreadyExists(b.create(t.Context(), "x")))
		require.NoError(t, b.create(t.Context(), "y"))
		assert.True(t, apierrors.IsForbidden(a.create(t.Context(), "z")))
		assert.True(t, apierrors.IsAlreadyExists(a.create(t.Context(), "x")), "it would be no more")
		require.NoError(t, b.delete("x"))
		require.NoError(t, a.create(t.Context(), "z"))
		assert.Zero(t, reservations(t, a))
	})
}

func TestWhatIsStoredAlreadyCounts(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		store := connect()
		for _, id := range []string{"task", "b", "c"} {
			_, err := store.Commit(storage.Create(&api.Task{JSONBase: api.JSONBase{ID: id}, IsPod: true}))
			require.NoError(t, err)
		}
		s := newServer(t, connect(), few("q", `{"pods":"2"}`))
		assert.EqualError(t, s.create(t.Context(), "x"), `pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=2`)
		require.NoError(t, s.delete("b"))
		require.NoError(t, s.delete("c"))
		assert.NoError(t, errors.Join(s.create(t.Context(), "x")))
	})
}
