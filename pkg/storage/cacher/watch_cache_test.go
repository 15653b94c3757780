package cacher

import (
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

func podOn(machine, namespace, id string) *api.Task {
	return &api.Task{JSONBase: api.JSONBase{ID: id}, ObjectMeta: api.ObjectMeta{Namespace: namespace}, CurrentState: api.TaskState{Host: machine}, IsPod: true}
}

// A change wakes those whom it concerns: a kubelet is not woken by the pods of others.
func TestAWatcherIsWokenOnlyByWhatConcernsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := New(0)
		var mu sync.Mutex // guards woken
		woken := map[string]bool{}
		for name, selection := range map[string]storage.Selection{
			"m1": {Machine: "m1"}, "m2": {Machine: "m2"}, "dev": {Namespace: "dev"}, "all": {},
		} {
			selection.Kind = api.TaskKind
			watching, err := cache.Watch(selection, 0)
			require.NoError(t, err)
			go func() {
				_, changed, _ := watching.(*watcher).read()
				<-changed
				mu.Lock()
				defer mu.Unlock()
				woken[name] = true
			}()
		}
		synctest.Wait()
		put(t, cache, podOn("", "default", "a"))
		put(t, cache, podOn("m1", "default", "a"))
		put(t, cache, service(1))
		synctest.Wait()
		mu.Lock()
		assert.Equal(t, map[string]bool{"m1": true, "all": true}, woken)
		mu.Unlock()
		put(t, cache, podOn("m2", "dev", "b"))
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		assert.Len(t, woken, 4)
	})
}

// What concerns a watcher is what a scan of all events finds, however many others there are, and
// a watcher that begins earlier than another one of the same machine misses nothing.
func TestWhatAWatcherGetsAgreesWithAScan(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	cache := New(0)
	all, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 0)
	require.NoError(t, err)
	var events []storage.Event
	for step := range 3000 {
		id, machine := fmt.Sprint("p", random.Intn(50)), fmt.Sprint("m", random.Intn(20))
		namespace := []string{"default", "dev"}[random.Intn(2)]
		if cache.kind(api.TaskKind).get(api.Key{Kind: api.TaskKind, Namespace: namespace, ID: id}) != nil && random.Intn(2) == 0 {
			require.NoError(t, cache.Update(func(tx *Tx) error {
				tx.Replace(tx.Get(api.Key{Kind: api.TaskKind, Namespace: namespace, ID: id}), nil, tx.Version()+1)
				return nil
			}))
		} else {
			put(t, cache, podOn(machine, namespace, id))
		}
		got, err := all.Next(t.Context())
		require.NoError(t, err)
		events = append(events, got...)
		if step%30 > 0 {
			continue
		}
		selection := storage.Selection{Kind: api.TaskKind, Machine: fmt.Sprint("m", random.Intn(20)), Namespace: []string{"", "dev"}[random.Intn(2)]}
		if random.Intn(3) == 0 {
			selection.Machine = ""
		}
		after := uint64(random.Intn(step + 1))
		watcher, err := cache.Watch(selection, after)
		require.NoError(t, err)
		var want, seen []uint64
		for _, event := range events {
			if event.Version > after && (selection.Includes(event.Before) || selection.Includes(event.After)) {
				want = append(want, event.Version)
			}
		}
		for len(seen) < len(want) {
			got, err := watcher.Next(t.Context())
			require.NoError(t, err)
			for _, event := range got {
				seen = append(seen, event.Version)
			}
		}
		require.Equal(t, want, seen, "%v after %d", selection, after)
		if len(want) > 0 {
			assert.Equal(t, cache.version, watcher.Version())
		}
		if random.Intn(2) == 0 {
			watcher.Stop()
		}
	}
}

// A watcher is cut off by a dropped event that concerns it, and by no other one.
func TestAWatcherOfOneMachineIsCutOffByItsOwnEventsOnly(t *testing.T) {
	t.Parallel()
	cache := New(0)
	quiet, err := cache.Watch(storage.Selection{Kind: api.TaskKind, Machine: "m1"}, 0)
	require.NoError(t, err)
	slow, err := cache.Watch(storage.Selection{Kind: api.TaskKind, Machine: "m2"}, 0)
	require.NoError(t, err)
	put(t, cache, podOn("m2", "", "x"))
	for i := range maxEvents {
		put(t, cache, podOn("m3", "", fmt.Sprint("p", i%10)))
	}
	put(t, cache, podOn("m1", "", "y"))
	events, err := quiet.Next(t.Context())
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, "y", events[0].Key().ID)
	for range 2 {
		_, err = slow.Next(t.Context())
		assert.Equal(t, api.Expired, api.KindOf(err))
	}
	_, err = cache.Watch(storage.Selection{Kind: api.TaskKind, Machine: "m1"}, 0)
	assert.Equal(t, api.Expired, api.KindOf(err), "a new one cannot know")
}

func TestAStoppedWatcherLeavesNothing(t *testing.T) {
	t.Parallel()
	cache := New(0)
	var all []storage.Watcher
	for i := range 100 {
		watcher, err := cache.Watch(storage.Selection{Kind: api.TaskKind, Machine: fmt.Sprint("m", i/2)}, 0)
		require.NoError(t, err)
		all = append(all, watcher)
	}
	assert.Len(t, cache.kinds[api.TaskKind].history.scopes, 50)
	cache.Reset(5, nil) // they are cut off, and stopped all the same
	for _, watcher := range slices.Backward(all) {
		watcher.Stop()
	}
	assert.Empty(t, cache.kinds)
	watcher, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 5)
	require.NoError(t, err)
	watcher.Stop()
	assert.Empty(t, cache.kinds[api.TaskKind].history.scopes)
}

// All histories together are bounded: the one that keeps most gives way.
func TestTheLargestHistoryGivesWay(t *testing.T) {
	t.Parallel()
	const size = maxHistorySize / 8
	cache := New(0)
	put(t, cache, &api.Any{Kind: api.NodeKind, ID: "n", ObjectMeta: api.ObjectMeta{Remainder: api.Remainder(make([]byte, size))}})
	put(t, cache, &api.Any{Kind: api.NodeKind, ID: "n"})
	for i := range 20 {
		put(t, cache, &api.Any{Kind: "events", ID: "e", ObjectMeta: api.ObjectMeta{Namespace: "default", Remainder: api.Remainder(make([]byte, size+i))}})
	}
	assert.LessOrEqual(t, cache.size, maxHistorySize)
	assert.Equal(t, cache.size, cache.kinds[api.NodeKind].history.size+cache.kinds["events"].history.size)
	watcher, err := cache.Watch(storage.Selection{Kind: api.NodeKind}, 1)
	require.NoError(t, err, "the history of nodes is short, and stays")
	watcher.Stop()
	_, err = cache.Watch(storage.Selection{Kind: "events"}, 2)
	assert.Equal(t, api.Expired, api.KindOf(err))
}
