package cacher

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/storage"
)

func TestTheHistoryHasTheLastEventsAndNoMore(t *testing.T) {
	t.Parallel()
	const start, over = 1000, 7
	cache := New(start)
	all, err := cache.Watch(storage.Selection{Kind: api.ServiceKind}, start)
	require.NoError(t, err)
	for i := range maxEvents {
		put(t, cache, service(i))
	}
	assert.Len(t, eventsOf(cache), maxEvents)
	_, err = cache.Watch(storage.Selection{Kind: api.ServiceKind}, start)
	require.NoError(t, err, "all are there")
	events, err := all.Next(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, start+1, events[0].Version)

	all.(*watcher).next = 0 // as if it had not read
	for i := range over {
		put(t, cache, service(i))
	}
	assert.Len(t, eventsOf(cache), maxEvents)
	_, err = all.Next(t.Context())
	assert.Equal(t, api.Expired, api.KindOf(err))
	_, err = cache.Watch(storage.Selection{Kind: api.ServiceKind}, start+over-1)
	assert.Equal(t, api.Expired, api.KindOf(err))
	watcher, err := cache.Watch(storage.Selection{Kind: api.ServiceKind}, start+over)
	require.NoError(t, err)
	events, err = watcher.Next(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, start+over+1, events[0].Version)
	assert.Len(t, events, maxBatch)
}

func TestAVersionBeforeTheFirstOneOfACacheHasExpired(t *testing.T) {
	t.Parallel()
	cache := New(1000)
	for version, want := range map[uint64]api.ErrorKind{0: api.Expired, 999: api.Expired, 1000: "", 1001: api.Expired} {
		_, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, version)
		assert.Equal(t, want, api.KindOf(err), "%d", version)
	}
}

func TestAWatcherIsCutOffByTheFirstEventThatItCannotRead(t *testing.T) {
	t.Parallel()
	cache := New(0)
	behind, err := cache.Watch(storage.Selection{Kind: api.ServiceKind}, 0)
	require.NoError(t, err)
	for i := range maxEvents {
		put(t, cache, service(i))
	}
	events, err := behind.Next(t.Context())
	require.NoError(t, err, "the last one that it can read")
	assert.EqualValues(t, 1, events[0].Version)
	for i := range maxBatch {
		put(t, cache, service(i))
	}
	events, err = behind.Next(t.Context())
	require.NoError(t, err, "again")
	assert.EqualValues(t, maxBatch+1, events[0].Version)
	for i := range maxBatch + 1 {
		put(t, cache, service(i))
	}
	for range 2 {
		_, err = behind.Next(t.Context())
		assert.Equal(t, api.Expired, api.KindOf(err))
	}
}

// Small objects may fill the history; of large ones it keeps fewer.
func TestTheMemoryThatTheHistoryKeepsIsBounded(t *testing.T) {
	t.Parallel()
	const size, objects = 4 << 20, 64
	cache := New(0)
	slow, err := cache.Watch(storage.Selection{Kind: api.ServiceKind}, 0)
	require.NoError(t, err)
	var all []weak.Pointer[storage.Object]
	for i := range objects {
		all = append(all, weak.Make(put(t, cache, &api.Service{
			JSONBase: api.JSONBase{ID: "x"}, Labels: map[string]string{"large": strings.Repeat("x", size)}, Port: i,
		})))
		assert.LessOrEqual(t, cache.size, maxHistorySize)
	}
	const fit = maxHistorySize/size - 1 // each is a little larger
	assert.Len(t, eventsOf(cache), fit)
	runtime.GC()
	for _, object := range all[:objects-fit-2] { // without the one before the first event
		assert.Nil(t, object.Value(), "what is not in the history is not in memory")
	}
	_, err = slow.Next(t.Context())
	assert.Equal(t, api.Expired, api.KindOf(err))

	remove(t, cache, api.ServiceKind, "x")
	for i := range maxEvents + 100 { // small ones take the place of the large ones
		put(t, cache, service(i))
	}
	assert.Len(t, eventsOf(cache), maxEvents)
	assert.Less(t, cache.size, maxHistorySize/4)
	assert.Equal(t, sumOfSizes(cache), cache.size)
}

// eventsOf returns the events of services.
func eventsOf(cache *Cache) []entry { return cache.kind(api.ServiceKind).history.events }

func sumOfSizes(cache *Cache) int {
	sum := 0
	for _, event := range eventsOf(cache) {
		sum += event.size
	}
	return sum
}

func TestAnObjectThatIsLargerThanTheHistoryLeavesItEmpty(t *testing.T) {
	t.Parallel()
	cache := New(0)
	put(t, cache, &api.Service{JSONBase: api.JSONBase{ID: "x"}, Labels: map[string]string{"large": strings.Repeat("x", maxHistorySize+1)}})
	watcher, err := cache.Watch(storage.Selection{Kind: api.ServiceKind}, 0)
	require.NoError(t, err, "the present version costs the history nothing")
	remove(t, cache, api.ServiceKind, "x")
	assert.Empty(t, eventsOf(cache))
	assert.Zero(t, cache.size)
	_, err = watcher.Next(t.Context())
	assert.Equal(t, api.Expired, api.KindOf(err))
	_, err = cache.Watch(storage.Selection{Kind: api.ServiceKind}, 1)
	assert.Equal(t, api.Expired, api.KindOf(err))
	watcher, err = cache.Watch(storage.Selection{Kind: api.ServiceKind}, 2)
	require.NoError(t, err)
	put(t, cache, service(1))
	events, err := watcher.Next(t.Context())
	require.NoError(t, err)
	assert.Len(t, events, 1)
}

func TestTheTextsOfAnObjectCountInTheHistory(t *testing.T) {
	t.Parallel()
	sizes := map[bool]int{}
	for _, encoded := range []bool{false, true} {
		cache := New(0)
		object := put(t, cache, makeTask("x", nil))
		if encoded {
			_, err := object.EncodedBy(v1beta1.Codec)
			require.NoError(t, err)
		}
		remove(t, cache, api.TaskKind, "x")
		sizes[encoded] = cache.size
		assert.GreaterOrEqual(t, sizes[encoded], sizeOf(reflect.ValueOf(object.Object)))
		item, err := object.Item(v1beta1.Codec)
		require.NoError(t, err)
		assert.True(t, !encoded || sizes[true] == sizes[false]+len(item))
	}
	assert.Len(t, sizes, 2)
}

func TestTheSizeOfAValueIsThatOfAllItPointsTo(t *testing.T) {
	t.Parallel()
	const word, text, slice = 8, 16, 24
	number := 1
	for name, row := range map[string]struct {
		value interface{}
		want  int
	}{
		"a number":         {number, word},
		"a text":           {"12345", text + 5},
		"a pointer":        {&number, word + word},
		"no pointer":       {(*int)(nil), word},
		"a slice":          {[]int{1, 2, 3}, slice + 3*word},
		"no slice":         {[]int(nil), slice},
		"a slice of texts": {[]string{"12", "3"}, slice + 2*text + 3},
		"a map":            {map[string]string{"12": "3", "": ""}, word + 4*text + 3},
		"no map":           {map[string]string(nil), word},
		"a struct":         {struct{ A, B string }{"1", "23"}, 2*text + 3},
		"structs in a struct": {struct {
			A struct{ B struct{ C []string } }
		}{}, slice},
		"anything": {[]interface{}{"1", nil}, slice + 2*text + text + 1},
		"a volume": {&api.ContainerManifest{Volumes: []api.Volume{{Name: "12"}}}, word + 2*text + 2*slice + text + 2},
	} {
		assert.Equal(t, row.want, sizeOf(reflect.ValueOf(row.value)), name)
	}
}

func TestTheSizeOfATaskGrowsWithEachOfItsParts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	size := func(task *api.Task) int { return sizeOf(reflect.ValueOf(task)) }
	small := size(makeTask("x", nil))
	for name, change := range map[string]func(*api.Task){
		"the id":            func(task *api.Task) { task.ID += long },
		"a label's key":     func(task *api.Task) { task.Labels = map[string]string{long: ""} },
		"a label's value":   func(task *api.Task) { task.Labels = map[string]string{"": long} },
		"an annotation":     func(task *api.Task) { task.Annotations = map[string]string{"": long} },
		"an image":          func(task *api.Task) { task.DesiredState.Manifest.Containers[0].Image += long },
		"containers":        func(task *api.Task) { task.DesiredState.Manifest.Containers = make([]api.Container, 10) },
		"what it is told":   func(task *api.Task) { task.CurrentState.Info = map[string]interface{}{"a": []interface{}{long}} },
		"a variable's name": func(task *api.Task) { task.DesiredState.Manifest.Containers[0].Env = []api.EnvVar{{Name: long}} },
	} {
		task := makeTask("x", nil)
		change(task)
		assert.GreaterOrEqual(t, size(task), small+1000, name)
	}
}

// The zone of a time is shared, and another goroutine may be loading it.
func TestTheZoneOfATimeDoesNotCount(t *testing.T) {
	t.Parallel()
	task := makeTask("x", nil)
	before := sizeOf(reflect.ValueOf(task))
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		zone = time.FixedZone(strings.Repeat("z", 1000), 1)
	}
	task.CreationTime = time.Now().In(zone)
	assert.Equal(t, before, sizeOf(reflect.ValueOf(task)))
}

func TestAWatcherGetsABatchAtOnceAndWhatWasMadeTogetherInOne(t *testing.T) {
	t.Parallel()
	cache := New(0)
	var together []*storage.Object
	for i := range maxBatch - 1 {
		put(t, cache, service(i))
	}
	require.NoError(t, cache.Update(func(tx *Tx) error {
		for i := range 3 {
			for _, object := range []api.Object{service(i), &api.Endpoints{Name: service(i).ID}} {
				version := tx.Version() + 1
				together = append(together, storage.NewObject(object, version, version))
				tx.Replace(tx.Get(object.Key()), together[len(together)-1], version)
			}
		}
		return nil
	}))
	put(t, cache, service(1))
	watcher, err := cache.Watch(storage.Selection{Kind: api.ServiceKind}, 0)
	require.NoError(t, err)
	for _, want := range []int{maxBatch - 1 + 3, 1} {
		events, err := watcher.Next(t.Context())
		require.NoError(t, err)
		assert.Len(t, events, want)
	}
	assert.Len(t, together, 6)
}

func TestAWatcherWaitsForAChangeOfItsKindOrTheEndOfTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := New(0)
		watcher, err := cache.Watch(storage.Selection{Kind: api.ServiceKind}, 0)
		require.NoError(t, err)
		var events []storage.Event
		returned := false
		next := func(ctx context.Context) {
			returned = false
			go func() {
				events, err = watcher.Next(ctx)
				returned = true
			}()
			synctest.Wait()
		}
		next(t.Context())
		assert.False(t, returned)
		put(t, cache, makeTask("x", nil))
		synctest.Wait()
		assert.False(t, returned, "it is of another kind")
		require.Error(t, cache.Update(func(tx *Tx) error {
			tx.Replace(nil, storage.NewObject(service(1), 2, 2), 2)
			return errors.New("no")
		}))
		synctest.Wait()
		assert.False(t, returned, "it was undone")
		put(t, cache, service(1))
		synctest.Wait()
		require.True(t, returned)
		require.NoError(t, err)
		assert.Len(t, events, 1)

		ctx, cancel := context.WithCancel(t.Context())
		next(ctx)
		assert.False(t, returned)
		cancel()
		synctest.Wait()
		require.True(t, returned)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

// beforeWait is a context that calls a function before a watcher waits for its end.
type beforeWait struct {
	context.Context
	call func()
}

func (c beforeWait) Done() <-chan struct{} {
	c.call()
	return c.Context.Done()
}

func TestAWatcherDoesNotMissAChangeThatIsMadeBeforeItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := New(0)
		watcher, err := cache.Watch(storage.Selection{Kind: api.ServiceKind}, 0)
		require.NoError(t, err)
		events, err := watcher.Next(beforeWait{t.Context(), func() { put(t, cache, service(1)) }})
		require.NoError(t, err)
		assert.Len(t, events, 1)
	})
}

func TestAListAtAVersionIsWhatAListWasThen(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	cache, lists := New(0), []*storage.List{}
	for version := range uint64(500) {
		now, err := cache.List(storage.Selection{Kind: api.TaskKind})
		require.NoError(t, err)
		require.Equal(t, version, now.Version)
		lists = append(lists, now)
		id := fmt.Sprint("x", random.Intn(20))
		if cache.kind(api.TaskKind).get(api.DefaultKey(api.TaskKind, id)) != nil && random.Intn(2) == 0 {
			remove(t, cache, api.TaskKind, id)
		} else {
			put(t, cache, makeTask(id, nil))
		}
	}
	for _, then := range lists {
		again, err := cache.ListAt(storage.Selection{Kind: api.TaskKind}, then.Version)
		require.NoError(t, err)
		require.Equal(t, then.Version, again.Version)
		require.True(t, slices.Equal(then.Items, again.Items), "at version %d: %v, not %v", then.Version, idsOf(again.Items), idsOf(then.Items))
	}
	none, err := cache.ListAt(storage.Selection{Kind: api.NodeKind}, 500)
	require.NoError(t, err)
	assert.Empty(t, none.Items)
}
