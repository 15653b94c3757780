package storagetest

import (
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var concurrentTests = []test{
	{"concurrent calls are linearizable", onEachKind(linearizable)},
	{"the checker refuses histories that are not linearizable", checkerRefuses},
	{"what is cached is never older than what the process has seen", onEachKind(cachedIsNew)},
	{"no concurrent update is lost", onEachKind(noneLost)},
	{"an update begins again if others change the object first", onEachKind(beginsAgain)},
	{"an update whose change fails writes nothing", onEachKind(changeFails)},
	{"an update that takes a host port of another task fails", updateTakesPort},
}

// call and answer are one operation on one object.
type call struct {
	verb     string // get, list, version, create, update or delete
	expected uint64 // of update and delete
}

type answer struct {
	kind    api.ErrorKind
	version uint64 // of the object; 0 if it is not there
	store   uint64 // of the store, if the answer tells it
}

// register is the model of one object.
type register struct {
	version uint64 // 0 if it is not there
	highest uint64 // that the store was seen to have had
}

var registerModel = porcupine.Model{
	Init: func() interface{} { return register{} },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		return state.(register).step(input.(call), output.(answer))
	},
	DescribeOperation: func(input, output interface{}) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

func (r register) step(in call, out answer) (bool, register) {
	there := r.version != 0
	switch in.verb {
	case "get":
		return out.version == r.version && (out.kind == "") == there, r
	case "list":
		return out.kind == "" && out.version == r.version && out.store >= r.highest, register{r.version, max(r.highest, out.store)}
	case "version":
		return out.kind == "" && out.store >= r.highest, register{r.version, max(r.highest, out.store)}
	}
	var want api.ErrorKind
	switch {
	case in.expected == storage.Any, in.expected == storage.Absent && !there, in.expected == storage.Present && there:
	case !there:
		want = api.NotFound
	case in.expected == storage.Absent:
		want = api.AlreadyExists
	case in.expected != storage.Present && in.expected != r.version:
		want = api.Conflict
	}
	switch {
	case out.kind != want:
		return false, r
	case want != "":
		return true, r
	case in.verb == "delete":
		return true, register{0, r.highest}
	}
	return out.version > r.highest, register{out.version, max(r.highest, out.version)}
}

// ask makes a call.
func ask(store storage.Interface, kind api.Kind, id string, mark int, in call) answer {
	versionOf := func(objects []*storage.Object) uint64 {
		for _, object := range objects {
			if object != nil && object.Key().ID == id {
				return object.Version()
			}
		}
		return 0
	}
	var out answer
	var err error
	switch in.verb {
	case "get":
		var object *storage.Object
		object, err = store.Get(api.DefaultKey(kind, id))
		out.version = versionOf([]*storage.Object{object})
	case "list":
		var list *storage.List
		if list, err = store.List(storage.Selection{Kind: kind}); err == nil {
			out.version, out.store = versionOf(list.Items), list.Version
		}
	case "version":
		out.store, err = store.Version()
	case "delete":
		_, err = store.Commit(storage.Delete(api.DefaultKey(kind, id), in.expected))
	default:
		made := object(kind, id, mark)
		if in.verb == "create" {
			made = unplaced(made) // each update gives a pod its machine, if it has none
		}
		var written []*storage.Object
		written, err = store.Commit(storage.Update(made, in.expected))
		out.version = versionOf(written)
	}
	out.kind = api.KindOf(err)
	return out
}

func linearizable(t *testing.T, h Harness, kind api.Kind) {
	const workers = 8
	stores := h.processes(t)
	ids := []string{"x", "y", "z"}
	histories := map[string][]porcupine.Operation{}
	var known [3][16]atomic.Uint64 // versions that the objects had
	var clock atomic.Int64
	var mu sync.Mutex // guards histories
	var group sync.WaitGroup
	for w := range workers {
		store := stores[w%len(stores)]
		group.Go(func() {
			random := rand.New(rand.NewSource(int64(w)))
			for i := range max(40, h.rounds(150)) {
				n := random.Intn(len(ids))
				version := known[n][0].Load() // the newest
				if random.Intn(3) == 0 {
					version = known[n][random.Intn(16)].Load()
				}
				calls := []call{{"get", 0}, {"list", 0}, {"version", 0}, {"create", storage.Absent}, {"update", version}, {"update", version},
					{"update", storage.Present}, {"update", storage.Any}, {"delete", version}, {"delete", storage.Present}, {"delete", storage.Any}}
				in := calls[random.Intn(len(calls))]
				called := clock.Add(1)
				out := ask(store, kind, ids[n], i*workers+w, in)
				returned := clock.Add(1)
				if out.version != 0 {
					known[n][random.Intn(16)].Store(out.version)
					known[n][0].Store(out.version)
				}
				mu.Lock()
				histories[ids[n]] = append(histories[ids[n]], porcupine.Operation{ClientId: w, Input: in, Call: called, Output: out, Return: returned})
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for _, id := range ids {
		require.True(t, porcupine.CheckOperations(registerModel, histories[id]), "%+v", histories[id])
	}
}

func checkerRefuses(t *testing.T, _ Harness) {
	op := func(in call, out answer, called, returned int64) porcupine.Operation {
		return porcupine.Operation{Input: in, Output: out, Call: called, Return: returned}
	}
	create := op(call{"create", storage.Absent}, answer{version: 5}, 0, 1)
	for name, row := range map[string]struct {
		possible bool
		history  []porcupine.Operation
	}{
		"a create and a get":          {true, []porcupine.Operation{create, op(call{verb: "get"}, answer{version: 5}, 2, 3)}},
		"a get before a create ends":  {true, []porcupine.Operation{op(call{"create", storage.Absent}, answer{version: 5}, 0, 9), op(call{verb: "get"}, answer{version: 5}, 2, 3), op(call{verb: "get"}, answer{version: 5}, 4, 5)}},
		"a lost create":               {false, []porcupine.Operation{create, op(call{verb: "get"}, answer{kind: api.NotFound}, 2, 3)}},
		"a list without the object":   {false, []porcupine.Operation{create, op(call{verb: "list"}, answer{store: 5}, 2, 3)}},
		"a list that is old":          {false, []porcupine.Operation{create, op(call{verb: "list"}, answer{version: 5, store: 4}, 2, 3)}},
		"an old version of the store": {false, []porcupine.Operation{create, op(call{verb: "version"}, answer{store: 4}, 2, 3)}},
		"a version that was seen":     {false, []porcupine.Operation{op(call{verb: "version"}, answer{store: 5}, -2, -1), create}},
		"an update of a stale version that wins": {false, []porcupine.Operation{create,
			op(call{"update", 5}, answer{version: 6}, 2, 3), op(call{"update", 5}, answer{version: 7}, 4, 5)}},
		"two updates of one version": {false, []porcupine.Operation{create,
			op(call{"update", 5}, answer{version: 6}, 2, 9), op(call{"update", 5}, answer{version: 7}, 2, 9)}},
		"an update that is refused for nothing": {false, []porcupine.Operation{create, op(call{"update", 5}, answer{kind: api.Conflict}, 2, 3)}},
		"a version that becomes smaller":        {false, []porcupine.Operation{create, op(call{"update", 5}, answer{version: 4}, 2, 3)}},
		"a delete that did not": {false, []porcupine.Operation{create,
			op(call{"delete", storage.Present}, answer{}, 2, 3), op(call{verb: "get"}, answer{version: 5}, 4, 5)}},
	} {
		assert.Equal(t, row.possible, porcupine.CheckOperations(registerModel, row.history), name)
	}
}

// cachedIsNew compares what a process has just read with what is cached.
func cachedIsNew(t *testing.T, h Harness, kind api.Kind) {
	stores := h.processes(t)
	var group sync.WaitGroup
	for w := range 4 {
		store := stores[w%len(stores)]
		group.Go(func() {
			random := rand.New(rand.NewSource(int64(w)))
			cached := cached(t, store)
			var newest uint64 // that this goroutine has seen
			for i := range h.rounds(300) {
				id := fmt.Sprint("x", random.Intn(3))
				switch random.Intn(5) {
				case 0:
					list, err := store.List(storage.Selection{Kind: kind})
					assert.NoError(t, err)
					newest = max(newest, list.Version)
				case 1:
					if object, err := store.Get(api.DefaultKey(kind, id)); err == nil {
						newest = max(newest, object.Version())
					}
				case 2:
					_, err := store.Commit(storage.Delete(api.DefaultKey(kind, id), storage.Any))
					assert.NoError(t, err)
				case 3: // an object of this goroutine alone: what is cached is exactly what it has read
					own := fmt.Sprint("own", w)
					_, err := store.Commit(storage.Update(object(kind, own, i), storage.Any))
					assert.NoError(t, err)
					written, err := store.Get(api.DefaultKey(kind, own))
					if !assert.NoError(t, err) {
						return
					}
					read, err := cached.Get(api.DefaultKey(kind, own))
					if !assert.NoError(t, err) || !assert.Equal(t, factsOf(written), factsOf(read)) {
						return
					}
				default:
					_, err := store.Commit(storage.Update(object(kind, id, i), storage.Any))
					if !assert.NoError(t, err) {
						return
					}
				}
				list, err := cached.List(storage.Selection{Kind: kind})
				if !assert.NoError(t, err) || !assert.GreaterOrEqual(t, list.Version, newest) {
					return
				}
				newest = list.Version
				version, err := cached.Version()
				assert.NoError(t, err)
				assert.GreaterOrEqual(t, version, newest)
			}
		})
	}
	group.Wait()
}

func noneLost(t *testing.T, h Harness, kind api.Kind) {
	const workers = 8
	stores := h.processes(t)
	var mu sync.Mutex // guards seen
	seen := map[int]bool{}
	var group sync.WaitGroup
	for w := range workers {
		store := stores[w%len(stores)]
		group.Go(func() {
			for done := 0; done < h.rounds(40); {
				written, err := storage.GuaranteedUpdate(store, api.DefaultKey(kind, "x"), func(stored *storage.Object) (api.Object, error) {
					if stored == nil {
						return object(kind, "x", 1), nil
					}
					return object(kind, "x", markOf(stored)+1), nil
				})
				if api.KindOf(err) == api.Conflict {
					continue // the others always won, for long
				}
				if !assert.NoError(t, err) {
					return
				}
				done++
				mu.Lock()
				assert.False(t, seen[markOf(written)], "%d was written twice", markOf(written))
				seen[markOf(written)] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for _, store := range stores {
		assert.Equal(t, workers*h.rounds(40), markOf(get(t, store, kind, "x")))
	}
}

// beginsAgain lets the change itself be the other one who is first.
func beginsAgain(t *testing.T, h Harness, kind api.Kind) {
	stores := h.processes(t)
	own, other := stores[0], stores[len(stores)-1]
	for name, row := range map[string]struct {
		before  int // 0 if there is no object
		meddle  storage.Change
		between int // what the second attempt sees
	}{
		"it is created":         {0, storage.Create(object(kind, "created", 5)), 5},
		"it is updated":         {1, storage.Update(object(kind, "updated", 5), storage.Present), 5},
		"it is deleted":         {1, storage.Delete(api.DefaultKey(kind, "deleted"), storage.Present), 0},
		"nothing happens to it": {1, storage.Create(object(kind, "apart", 5)), 1},
		"it is missing":         {0, storage.Create(object(kind, "far", 5)), 0},
	} {
		id := row.meddle.Key.ID
		if id == "apart" || id == "far" {
			id += "-not"
		}
		if row.before != 0 {
			commit(t, other, storage.Create(object(kind, id, row.before)))
		}
		var attempts []int
		written, err := storage.GuaranteedUpdate(own, api.DefaultKey(kind, id), func(stored *storage.Object) (api.Object, error) {
			mark := 0
			if stored != nil {
				mark = markOf(stored)
			}
			if attempts = append(attempts, mark); len(attempts) == 1 {
				commit(t, other, row.meddle)
			}
			return object(kind, id, mark+10), nil
		})
		require.NoError(t, err, name)
		want := []int{row.before, row.between}
		if id != row.meddle.Key.ID {
			want = want[:1]
		}
		assert.Equal(t, want, attempts, name)
		assert.Equal(t, row.between+10, markOf(written), name)
		assert.Equal(t, factsOf(written), factsOf(get(t, other, kind, id)), name)
	}
}

func changeFails(t *testing.T, h Harness, kind api.Kind) {
	store := h.Make(t)
	failure := errors.New("no")
	for range 2 { // without an object, and with one
		before, err := allIn(store)
		require.NoError(t, err)
		written, err := storage.GuaranteedUpdate(store, api.DefaultKey(kind, "x"), func(*storage.Object) (api.Object, error) {
			return object(kind, "x", 9), failure
		})
		assert.Equal(t, failure, err)
		assert.Nil(t, written)
		after, err := allIn(store)
		require.NoError(t, err)
		assert.Equal(t, before, after)
		commit(t, store, storage.Update(object(kind, "x", 1), storage.Any))
	}
}

func updateTakesPort(t *testing.T, h Harness) {
	store := h.Make(t)
	commit(t, store, storage.Create(taskOn("owner", "m1", 80)))
	written, err := storage.GuaranteedUpdate(store, api.DefaultKey(api.TaskKind, "x"), func(*storage.Object) (api.Object, error) {
		return taskOn("x", "m1", 81, 80), nil
	})
	requireKind(t, api.HostPortTaken, err)
	assert.Nil(t, written)
	assert.Equal(t, "m1", FirstFree(t, store, []string{"m1"}, taskOn("x", "", 81)))
}
