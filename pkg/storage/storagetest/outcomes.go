package storagetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var outcomeTests = []test{
	{"a change has the outcome that its expected version demands", onEachKind(outcomes)},
	{"if one change of several fails, none is made", noneIfOneFails},
}

// lives are the versions that an object had before a change: of an earlier object
// with its id, and since its creation; and that of another object.
type lives struct{ deleted, stale, current, other uint64 }

// expectations are what a change can expect, with the errors that follow if the
// object is there, and if it is not.
var expectations = []struct {
	name           string
	expected       func(lives) uint64
	there, missing api.ErrorKind
}{
	{"that there is none", func(lives) uint64 { return storage.Absent }, api.AlreadyExists, ""},
	{"that there is one", func(lives) uint64 { return storage.Present }, "", api.NotFound},
	{"nothing", func(lives) uint64 { return storage.Any }, "", ""},
	{"its version", func(v lives) uint64 { return v.current }, "", api.NotFound},
	{"its version before the last change", func(v lives) uint64 { return v.stale }, api.Conflict, api.NotFound},
	{"the version of an earlier object with its id", func(v lives) uint64 { return v.deleted }, api.Conflict, api.NotFound},
	{"a version between two of its own", func(v lives) uint64 { return v.other }, api.Conflict, api.NotFound},
	{"the version before its own", func(v lives) uint64 { return v.current - 1 }, api.Conflict, api.NotFound},
	{"the version after its own", func(v lives) uint64 { return v.current + 1 }, api.Conflict, api.NotFound},
	{"the first version", func(lives) uint64 { return 1 }, api.Conflict, api.NotFound},
}

// live gives an object an earlier life and two versions, and deletes it then unless
// it is to be there.
func live(t *testing.T, store storage.Interface, kind api.Kind, id string, there bool) lives {
	write := func(id string, mark int) uint64 {
		return commit(t, store, storage.Update(object(kind, id, mark), storage.Any))[0].Version()
	}
	var v lives
	v.deleted = write(id, 1)
	commit(t, store, storage.Delete(api.DefaultKey(kind, id), storage.Present))
	v.stale = write(id, 2)
	v.other = write("other", 1)
	v.current = write(id, 3)
	if !there {
		commit(t, store, storage.Delete(api.DefaultKey(kind, id), storage.Present))
	}
	return v
}

// unseen commits changes and requires an error of a kind, and that neither readers
// nor watchers see anything of them. In a slow store it looks only at the kinds that are to
// be changed.
func unseen(t *testing.T, h Harness, store storage.Interface, want api.ErrorKind, changes ...storage.Change) {
	looked := kinds
	if h.Slow {
		looked = slices.DeleteFunc(slices.Clone(kinds), func(kind api.Kind) bool {
			return !slices.ContainsFunc(changes, func(change storage.Change) bool { return change.Key.Kind == kind })
		})
	}
	before, err := allIn(store, looked...)
	require.NoError(t, err)
	start := version(t, store)
	written, err := store.Commit(changes...)
	requireKind(t, want, err)
	if want != "" {
		assert.Empty(t, written)
	}
	for _, reader := range []storage.Reader{store, cached(t, store)} {
		after, err := allIn(reader, looked...)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	for _, kind := range looked {
		commit(t, store, storage.Create(object(kind, "end", 0)))
		require.Empty(t, eventsUntilEnd(t, watch(t, store, kind, start)))
		commit(t, store, storage.Delete(api.DefaultKey(kind, "end"), storage.Present))
	}
}

func outcomes(t *testing.T, h Harness, kind api.Kind) {
	h.skipMost(t, kind)
	store := h.Make(t)
	row := 0
	for _, expectation := range expectations {
		for _, there := range []bool{true, false} {
			for _, action := range []storage.Action{storage.Write, storage.Remove, storage.Check} {
				row++
				id, want, name := fmt.Sprint("x", row), expectation.missing, fmt.Sprintf("%s expects %s, there: %v", action, expectation.name, there)
				if there {
					want = expectation.there
				}
				v := live(t, store, kind, id, there)
				change := storage.Change{Key: api.DefaultKey(kind, id), Expected: expectation.expected(v), Action: action}
				if action == storage.Write {
					change.Object = object(kind, id, 4)
				}
				if want != "" || action == storage.Check || (action == storage.Remove && !there) {
					unseen(t, h, store, want, change)
					continue
				}
				written := commit(t, store, change)[0]
				read, err := store.Get(api.DefaultKey(kind, id))
				if action == storage.Remove {
					assert.Nil(t, written, name)
					requireKind(t, api.NotFound, err)
					continue
				}
				require.NoError(t, err, name)
				assert.Equal(t, factsOf(written), factsOf(read), name)
				assert.Equal(t, 4, markOf(read), name)
				assert.Greater(t, read.Version(), v.current, name)
				if there {
					assert.Equal(t, v.stale, read.Meta().CreationVersion, name)
				} else {
					assert.Equal(t, read.Version(), read.Meta().CreationVersion, name)
				}
			}
		}
	}
}

func noneIfOneFails(t *testing.T, h Harness) {
	if !h.Atomic {
		t.Skip("the store is not atomic")
	}
	store := h.Make(t)
	stale := commit(t, store, storage.Create(taskOn("changed", "m1", 80)))[0].Version()
	commit(t, store, storage.Update(taskOn("changed", "m1", 80, 81), storage.Present),
		storage.Create(taskOn("gone", "m1", 82)),
		storage.Create(object(api.ServiceKind, "gone", 1)),
		storage.Create(object(api.EndpointsKind, "gone", 1)))
	failing := map[api.ErrorKind]func() storage.Change{
		api.AlreadyExists: func() storage.Change { return storage.Create(object(api.ServiceKind, "gone", 1)) },
		api.NotFound:      func() storage.Change { return storage.Require(api.DefaultKey(api.ControllerKind, "none")) },
		api.Conflict:      func() storage.Change { return storage.Delete(api.DefaultKey(api.TaskKind, "changed"), stale) },
		api.HostPortTaken: func() storage.Change { return storage.Create(taskOn("late", "m2", 90)) },
	}
	commit(t, store, storage.Create(taskOn("owner", "m2", 90)))
	for want, failing := range failing {
		for place := range 5 {
			// made anew each time, for the store owns what it is given
			changes := []storage.Change{
				storage.Create(taskOn("new", "m3", 80)),
				storage.Update(object(api.EndpointsKind, "gone", 7), storage.Present),
				storage.Delete(api.DefaultKey(api.TaskKind, "gone"), storage.Present),
				storage.Create(labelled(api.ControllerKind, "new", 7, map[string]string{"name": "new"})),
			}
			changes = append(changes[:place:place], append([]storage.Change{failing()}, changes[place:]...)...)
			unseen(t, h, store, want, changes...)
			assert.Empty(t, list(t, store, api.ControllerKind, map[string]string{"name": "new"}).Items)
			assert.Equal(t, "", FirstFree(t, store, []string{"m1"}, taskOn("any", "", 82)))
			assert.Equal(t, "m3", FirstFree(t, store, []string{"m3"}, taskOn("any", "", 80)))
		}
	}
}
