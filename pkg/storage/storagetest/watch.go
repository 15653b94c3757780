package storagetest

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var watchTests = []test{
	{"a watcher gets what happened to an object", onEachKind(life)},
	{"a watcher gets each change of its kind after its version once, in order", eachChange},
	{"a watcher that does not read is cut off and holds up nobody", cutOff},
	{"a version that is not in the history cannot be watched from", notInHistory},
}

// listAgainTests are those in which whoever is cut off lists again.
var listAgainTests = []test{
	{"a list and the events after it lead to each later list", informers},
	{"watchers that begin while others write miss nothing", concurrentWatchers},
	{"a wait that is given up loses no event", givenUp},
}

func idOf(event storage.Event) string {
	if event.After != nil {
		return event.After.Key().ID
	}
	return event.Before.Key().ID
}

// isEnd reports whether an event is the creation of the object end: the last one that
// a test reads.
func isEnd(event storage.Event) bool { return event.Before == nil && idOf(event) == "end" }

// eventsUntilEnd returns the events before the creation of the object end.
func eventsUntilEnd(t *testing.T, watcher storage.Watcher) []storage.Event {
	events, err := readUntilEnd(t.Context(), watcher)
	require.NoError(t, err)
	return events
}

func readUntilEnd(ctx context.Context, watcher storage.Watcher) ([]storage.Event, error) {
	var all []storage.Event
	for {
		events, err := watcher.Next(ctx)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			return nil, fmt.Errorf("there is no event, and no error")
		}
		for i, event := range events {
			if isEnd(event) {
				if i+1 < len(events) {
					return nil, fmt.Errorf("there are events after the end: %v", eventFacts(events[i+1:]))
				}
				return all, nil
			}
			all = append(all, event)
		}
	}
}

// seen is what the tests compare of an event.
type seen struct {
	kind          storage.EventType
	version       uint64
	before, after facts
}

func eventFacts(events []storage.Event) []seen {
	all := []seen{}
	for _, event := range events {
		all = append(all, seen{event.Type, event.Version, factsOf(event.Before), factsOf(event.After)})
	}
	return all
}

// informer is a list that is kept up to date by events, as a client does it.
type informer struct {
	kind           api.Kind
	begun, version uint64 // of the list, of the last event
	items          map[string]facts
	applied        []seen
}

func newInformer(list *storage.List) *informer {
	i := &informer{kind: list.Kind, begun: list.Version, items: map[string]facts{}}
	for _, item := range list.Items {
		i.items[item.Key().ID] = factsOf(item)
	}
	return i
}

// apply applies an event, or returns what is wrong with it.
func (i *informer) apply(event storage.Event) error {
	before, after := factsOf(event.Before), factsOf(event.After)
	want := storage.Modified
	switch {
	case event.Before == nil && event.After == nil:
		return fmt.Errorf("an event has no object")
	case event.Before == nil:
		want = storage.Added
	case event.After == nil:
		want = storage.Deleted
	}
	id := idOf(event)
	switch {
	case event.Type != want:
		return fmt.Errorf("the type is %s, not %s: %v", event.Type, want, after)
	case before != i.items[id]:
		return fmt.Errorf("before the event %s was %v, not %v", id, i.items[id], before)
	case event.After != nil && (after.kind != i.kind || after.version != event.Version):
		return fmt.Errorf("an event of version %d of a %s has %v", event.Version, i.kind, after)
	case event.Version <= i.begun, event.Version < i.version, event.Before != nil && event.Version <= before.version:
		return fmt.Errorf("version %d comes after %d, %d and %v", event.Version, i.begun, i.version, before)
	case event.Before != nil && event.After != nil && (before.uid != after.uid || before.created != after.created || before.id != after.id):
		return fmt.Errorf("%v became %v", before, after)
	case event.Before == nil && after.created != after.version:
		return fmt.Errorf("%v is not new", after)
	}
	i.version = event.Version
	if i.items[id] = after; event.After == nil {
		delete(i.items, id)
	}
	i.applied = append(i.applied, seen{event.Type, event.Version, before, after})
	return nil
}

// compare returns how a later list differs from the informer's.
func (i *informer) compare(list *storage.List) error {
	if later := newInformer(list); !maps.Equal(i.items, later.items) {
		return fmt.Errorf("the events lead to %v, but the list is %v", i.items, later.items)
	}
	return nil
}

// reflector is a client that lists a kind and goes on watching from there. If it is
// cut off, and the store may do that, it lists again.
type reflector struct {
	*informer             // since the last list
	past      []*informer // each until it was cut off
	store     storage.Interface
	watcher   storage.Watcher
	cutsOff   bool // as Harness.CutsOff
}

// reflect begins with a list of the reader, which is the store or what it has cached.
func (h Harness) reflect(store storage.Interface, reader storage.Reader, kind api.Kind) (*reflector, error) {
	r := &reflector{store: store, cutsOff: h.CutsOff}
	return r, r.begin(reader, kind)
}

func (r *reflector) begin(reader storage.Reader, kind api.Kind) error {
	for {
		list, err := reader.List(storage.Selection{Kind: kind})
		if err != nil {
			return err
		}
		if r.watcher, err = r.store.Watch(storage.Selection{Kind: kind}, list.Version); !r.isCutOff(err) {
			r.informer = newInformer(list)
			return err
		}
		reader = r.store
	}
}

func (r *reflector) isCutOff(err error) bool { return r.cutsOff && api.KindOf(err) == api.Expired }

// next waits for the next events, and applies them.
func (r *reflector) next(ctx context.Context) error {
	events, err := r.watcher.Next(ctx)
	switch {
	case err == nil && len(events) == 0, err != nil && len(events) > 0:
		return fmt.Errorf("there are %d events, and the error is %v", len(events), err)
	case r.isCutOff(err):
		r.past = append(r.past, r.informer)
		return r.begin(r.store, r.kind)
	}
	for _, event := range events {
		if err := r.apply(event); err != nil {
			return err
		}
	}
	return err
}

// ended reports whether there is the object end, the last one that a test creates.
func (r *reflector) ended() bool { return r.items["end"] != facts{} }

func (r *reflector) untilEnd(ctx context.Context) error {
	for !r.ended() {
		if err := r.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkReflectors requires that each reflector of a kind has got each change after its
// list once, and that they lead to the final list. It has missed only what happened
// while it was cut off.
func checkReflectors(t *testing.T, all []*reflector, written map[facts]bool, final *storage.List) {
	every := map[seen]bool{}
	for _, r := range all {
		for _, i := range append(r.past, r.informer) {
			for _, event := range i.applied {
				require.True(t, event.after == facts{} || written[event.after], "nobody wrote %v", event.after)
				every[event] = true
			}
		}
	}
	cutOff := 0
	for _, r := range all {
		require.NoError(t, r.compare(final))
		for _, i := range r.past {
			i.requireAll(t, i.version, written, every)
		}
		r.requireAll(t, final.Version, written, every)
		cutOff += len(r.past)
	}
	t.Logf("%d watchers were cut off %d times", len(all), cutOff)
}

// requireAll requires that the informer has applied all changes up to a version: all
// that were written, and all that anybody was told of.
func (i *informer) requireAll(t *testing.T, until uint64, written map[facts]bool, every map[seen]bool) {
	events, objects := map[seen]bool{}, map[facts]bool{}
	for _, event := range i.applied {
		require.False(t, events[event], "%v comes twice", event)
		events[event], objects[event.after] = true, true
	}
	for object := range written {
		require.True(t, object.version <= i.begun || object.version > until || objects[object], "after %d, %v is missed", i.begun, object)
	}
	for event := range every {
		require.True(t, event.version <= i.begun || event.version > until || events[event], "after %d, %v is missed", i.begun, event)
	}
}

func life(t *testing.T, h Harness, kind api.Kind) {
	stores := h.processes(t)
	start := version(t, stores[0])
	writer := stores[len(stores)-1]
	labels := map[string]string{"name": "web"}
	first := commit(t, writer, storage.Create(labelled(kind, "x", 1, labels)))[0]
	second := commit(t, writer, storage.Update(labelled(kind, "x", 2, nil), first.Version()))[0]
	commit(t, writer, storage.Delete(api.DefaultKey(kind, "x"), second.Version()))
	deleted := version(t, writer)
	again := commit(t, writer, storage.Create(object(kind, "x", 3)))[0]
	commit(t, writer, storage.Create(object(kind, "end", 0)))
	for _, store := range stores {
		for _, reader := range []storage.Reader{store, cached(t, store)} {
			events := eventsUntilEnd(t, watch(t, reader, kind, start))
			require.Len(t, events, 4)
			gone := events[2].Version
			assert.Greater(t, gone, second.Version())
			assert.LessOrEqual(t, gone, deleted)
			assert.Equal(t, []seen{
				{storage.Added, first.Version(), facts{}, factsOf(first)},
				{storage.Modified, second.Version(), factsOf(first), factsOf(second)},
				{storage.Deleted, gone, factsOf(second), facts{}},
				{storage.Added, again.Version(), facts{}, factsOf(again)},
			}, eventFacts(events))
			for i, event := range events {
				later := eventsUntilEnd(t, watch(t, reader, kind, event.Version))
				assert.Equal(t, eventFacts(events[i+1:]), eventFacts(later))
			}
		}
	}
}

// randomChange returns a change of one of few objects. It may fail.
func randomChange(random *rand.Rand, kind api.Kind, mark int) storage.Change {
	id := fmt.Sprint("x", random.Intn(6))
	switch random.Intn(6) {
	case 0, 1:
		return storage.Delete(api.DefaultKey(kind, id), storage.Any)
	case 2:
		return storage.Create(unplaced(object(kind, id, mark)))
	case 3:
		return storage.Require(api.DefaultKey(kind, id))
	}
	return storage.Update(object(kind, id, mark), storage.Any)
}

// eachChange writes at random, and then watches from each version that it has seen.
func eachChange(t *testing.T, h Harness) {
	stores := h.processes(t)
	random := rand.New(rand.NewSource(4))
	starts := []uint64{version(t, stores[0])}
	log := map[api.Kind][]seen{}
	state := map[api.Kind]*informer{}
	for _, kind := range kinds {
		state[kind] = newInformer(list(t, stores[0], kind, nil))
	}
	for i := range h.rounds(200) {
		kind, store := kinds[random.Intn(len(kinds))], stores[random.Intn(len(stores))]
		change := randomChange(random, kind, i)
		written, err := store.Commit(change)
		assert.Contains(t, []api.ErrorKind{"", api.NotFound, api.AlreadyExists}, api.KindOf(err), "%v", err)
		starts = append(starts, version(t, store))
		if err != nil || change.Action == storage.Check {
			continue
		}
		before, after := state[kind].items[change.Key.ID], factsOf(written[0])
		switch state[kind].items[change.Key.ID] = after; {
		case after != (facts{}) && before != (facts{}):
			log[kind] = append(log[kind], seen{storage.Modified, after.version, before, after})
		case after != (facts{}):
			log[kind] = append(log[kind], seen{storage.Added, after.version, before, after})
		case before != (facts{}):
			// nothing else was written since, so the store has this version
			log[kind] = append(log[kind], seen{storage.Deleted, starts[len(starts)-1], before, after})
		}
	}
	for _, kind := range kinds {
		commit(t, stores[0], storage.Create(object(kind, "end", 0)))
		for i, start := range starts {
			want := []seen{}
			for _, event := range log[kind] {
				if event.version > start {
					want = append(want, event)
				}
			}
			got := eventFacts(eventsUntilEnd(t, watch(t, stores[i%len(stores)], kind, start)))
			for i := range min(len(got), len(want)) { // others may have made the store's version larger
				if own := got[i]; own.kind == storage.Deleted && own.before.version < own.version && own.version < want[i].version {
					got[i].version = want[i].version
				}
			}
			require.Equal(t, want, got, "after version %d", start)
		}
	}
}

// informers runs many short random schedules: of changes, and of informers that begin,
// read and compare themselves with a list.
func informers(t *testing.T, h Harness) {
	stores := h.processes(t)
	cutOff := 0
	for seed := range h.rounds(800) {
		random := rand.New(rand.NewSource(int64(seed)))
		kind, other := kinds[random.Intn(len(kinds))], kinds[random.Intn(len(kinds))]
		var all []*reflector
		// catchUp reads until the reflector has what the list has.
		catchUp := func(r *reflector, list *storage.List) {
			for newest := newInformer(list); !maps.Equal(r.items, newest.items); {
				version(t, r.store) // its process need not wait until it sees the changes of others by itself
				require.NoError(t, r.next(t.Context()), "seed %d, list %d", seed, list.Version)
				require.LessOrEqual(t, r.version, list.Version, "seed %d", seed)
			}
		}
		for step := range 25 {
			store := stores[random.Intn(len(stores))]
			switch action := random.Intn(6); {
			case action == 0 && len(all) < 4:
				reader := []storage.Reader{store, cached(t, store)}[random.Intn(2)]
				r, err := h.reflect(store, reader, kind)
				require.NoError(t, err)
				all = append(all, r)
			case action == 1 && len(all) > 0:
				catchUp(all[random.Intn(len(all))], list(t, store, kind, nil))
			case action == 2:
				_, err := store.Commit(randomChange(random, other, step))
				require.NotEqual(t, api.Internal, api.KindOf(err), "%v", err)
			case action == 3: // several at once, each of another object
				first, second := randomChange(random, kind, step), randomChange(random, kind, step)
				if first.Key != second.Key {
					_, err := store.Commit(first, second)
					require.NotEqual(t, api.Internal, api.KindOf(err), "%v", err)
				}
			default:
				_, err := store.Commit(randomChange(random, kind, step))
				require.NotEqual(t, api.Internal, api.KindOf(err), "%v", err)
			}
		}
		commit(t, stores[0], storage.Update(object(kind, "last", seed), storage.Any))
		final := list(t, stores[0], kind, nil)
		for _, r := range all {
			catchUp(r, final)
			cutOff += len(r.past)
		}
	}
	t.Logf("watchers were cut off %d times", cutOff)
}

// reflectors begins several reflectors of a kind, each when the one before has got some
// events, and lets all of them read until the object end is there.
func (h Harness) reflectors(ctx context.Context, store storage.Interface, kind api.Kind, random *rand.Rand) ([]*reflector, error) {
	var all []*reflector
	for len(all) < 20 && (len(all) == 0 || !all[len(all)-1].ended()) {
		r, err := h.reflect(store, store, kind)
		if err != nil {
			return nil, err
		}
		for some := 1 + random.Intn(20); len(r.applied) < some && !r.ended(); {
			if err := r.next(ctx); err != nil {
				return nil, err
			}
		}
		all = append(all, r)
	}
	for _, r := range all {
		if err := r.untilEnd(ctx); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// concurrentWatchers lets watchers begin at the versions of lists while others write.
func concurrentWatchers(t *testing.T, h Harness) {
	const writers = 4
	stores := h.processes(t)
	var mu sync.Mutex // guards written and begun
	written, begun := map[api.Kind]map[facts]bool{}, map[api.Kind][]*reflector{}
	for _, kind := range kinds {
		first, err := h.reflect(stores[0], stores[0], kind) // before anything is written
		require.NoError(t, err)
		written[kind], begun[kind] = map[facts]bool{}, []*reflector{first}
	}
	var writing, watching sync.WaitGroup
	for i, kind := range kinds {
		for p, store := range stores {
			watching.Go(func() {
				all, err := h.reflectors(t.Context(), store, kind, rand.New(rand.NewSource(int64(i*len(stores)+p))))
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				begun[kind] = append(begun[kind], all...)
			})
		}
	}
	for w := range writers {
		store := stores[w%len(stores)]
		writing.Go(func() {
			random := rand.New(rand.NewSource(int64(w)))
			for i := range h.rounds(800) {
				kind := kinds[random.Intn(len(kinds))]
				objects, err := store.Commit(randomChange(random, kind, i*writers+w))
				if !assert.Contains(t, []api.ErrorKind{"", api.NotFound, api.AlreadyExists}, api.KindOf(err), "%v", err) {
					return
				}
				if err == nil && objects[0] != nil {
					mu.Lock()
					written[kind][factsOf(objects[0])] = true
					mu.Unlock()
				}
			}
		})
	}
	writing.Wait()
	final := map[api.Kind]*storage.List{}
	for _, kind := range kinds {
		end := commit(t, stores[0], storage.Create(object(kind, "end", 0)))[0]
		written[kind][factsOf(end)] = true
		final[kind] = list(t, stores[0], kind, nil)
	}
	watching.Wait()
	for _, kind := range kinds {
		require.NoError(t, begun[kind][0].untilEnd(t.Context()))
		checkReflectors(t, begun[kind], written[kind], final[kind])
	}
}

// givenUp reads events with contexts that end at any moment.
func givenUp(t *testing.T, h Harness) {
	const kind = api.ServiceKind
	stores := h.processes(t)
	reader, err := h.reflect(stores[0], stores[0], kind)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for range 2 {
		assert.ErrorIs(t, reader.next(ended), context.Canceled)
		assert.ErrorIs(t, reader.next(late), context.DeadlineExceeded)
	}
	written := map[facts]bool{}
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range h.rounds(1000) {
			objects, err := stores[i%len(stores)].Commit(storage.Update(object(kind, "x", i), storage.Any))
			if assert.NoError(t, err) {
				written[factsOf(objects[0])] = true
			}
		}
		objects, err := stores[0].Commit(storage.Create(object(kind, "end", 0)))
		if assert.NoError(t, err) {
			written[factsOf(objects[0])] = true
		}
	})
	for !reader.ended() {
		ctx, cancel := context.WithCancel(t.Context())
		writing.Go(cancel)
		if err := reader.next(ctx); err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	writing.Wait()
	checkReflectors(t, []*reflector{reader}, written, list(t, stores[0], kind, nil))
}

func requireExpired(t *testing.T, watcher storage.Watcher) {
	for range 3 {
		events, err := watcher.Next(t.Context())
		requireKind(t, api.Expired, err)
		require.Empty(t, events)
	}
}

func cutOff(t *testing.T, h Harness) {
	if h.Forget == nil {
		t.Skip("the history is too long")
	}
	store := h.Make(t)
	var watchers []storage.Watcher
	kinds := []api.Kind{api.TaskKind, api.EndpointsKind, WidgetKind}
	for _, kind := range kinds {
		behind, ahead := watch(t, store, kind, version(t, store)), watch(t, cached(t, store), kind, version(t, store))
		commit(t, store, storage.Create(object(kind, "x", 1)))
		events, err := ahead.Next(t.Context())
		require.NoError(t, err)
		require.Len(t, events, 1)
		commit(t, store, storage.Create(object(kind, "y", 1)))
		watchers = append(watchers, behind, ahead)
	}
	before := version(t, store)
	h.Forget(t, store, kinds...) // the writers go on
	for _, watcher := range watchers {
		requireExpired(t, watcher)
	}
	for _, kind := range kinds {
		_, err := store.Watch(storage.Selection{Kind: kind}, before)
		requireKind(t, api.Expired, err)
		list := list(t, store, kind, nil)
		watcher := watch(t, store, kind, list.Version)
		commit(t, store, storage.Create(object(kind, "end", 1)))
		require.Empty(t, eventsUntilEnd(t, watcher))
	}
	for _, watcher := range watchers {
		requireExpired(t, watcher)
	}
}

func notInHistory(t *testing.T, h Harness) {
	store := h.Make(t)
	commit(t, store, storage.Create(object(api.TaskKind, "x", 1)))
	for _, kind := range kinds {
		for _, reader := range []storage.Reader{store, cached(t, store)} {
			_, err := reader.Watch(storage.Selection{Kind: kind}, version(t, store)+1<<40)
			requireKind(t, api.Expired, err)
			present := version(t, store)
			_, err = reader.Watch(storage.Selection{Kind: kind}, present+1)
			if version(t, store) == present { // nobody else made it larger
				requireKind(t, api.Expired, err)
			}
			watch(t, reader, kind, present)
		}
	}
	if h.Forget != nil {
		old := version(t, store)
		h.Forget(t, store, api.TaskKind)
		_, err := store.Watch(storage.Selection{Kind: api.TaskKind}, old)
		requireKind(t, api.Expired, err)
		watch(t, store, api.TaskKind, version(t, store))
	}
}
