package etcd2_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
	"kube2014/pkg/storage/etcd2/mirror"
)

var watchedKinds = []api.Kind{api.TaskKind, api.ControllerKind, api.ServiceKind}

// told is what is compared of an event.
type told struct {
	kind          storage.EventType
	id            string
	version       uint64
	before, after string // JSON with the metadata; "" for none
}

func textOf(object *storage.Object) string {
	if object == nil {
		return ""
	}
	text, err := json.Marshal(object.Object)
	return fmt.Sprintf("%s %s %v", object.Key().Kind, text, err)
}

// viewer is somebody who watches one kind, through one apiserver after the other.
type viewer struct {
	kind   api.Kind
	last   uint64 // the version after which it goes on
	events []told
}

// viewersAfter returns a viewer for each kind.
func viewersAfter(version uint64) (all []*viewer) {
	for _, kind := range watchedKinds {
		all = append(all, &viewer{kind: kind, last: version})
	}
	return all
}

// watchUntil lets viewers go on through a store: each reads until the object with the id is
// created, or until the context ends. The function that is returned waits for them.
func watchUntil(ctx context.Context, t *testing.T, viewers []*viewer, store *etcd2.Store, id string) (wait func()) {
	var group sync.WaitGroup
	for _, v := range viewers {
		watcher, err := store.Watch(storage.Selection{Kind: v.kind}, v.last)
		require.NoError(t, err)
		group.Go(func() {
			for seen := false; !seen; {
				events, err := watcher.Next(ctx)
				if ctx.Err() == nil && !assert.NoError(t, err) {
					return
				}
				for _, event := range events {
					this := told{event.Type, "", event.Version, textOf(event.Before), textOf(event.After)}
					if event.After != nil {
						this.id = event.After.Key().ID
					} else {
						this.id = event.Before.Key().ID
					}
					v.last, v.events = event.Version, append(v.events, this)
					seen = seen || this.id == id
				}
				if err != nil {
					return
				}
			}
		})
	}
	return group.Wait
}

// objectOf returns a new object. The mark tells its versions apart.
func objectOf(kind api.Kind, id string, mark int) api.Object {
	switch kind {
	case api.TaskKind:
		task := on("m", makeTask(id))
		task.DesiredState.Manifest.Containers[0].Image = fmt.Sprint("image-", mark)
		return &task
	case api.ControllerKind:
		controller := makeController(id, mark)
		return &controller
	}
	service := makeService(id, mark)
	return &service
}

// writers change objects at random, several at once. The tasks of each are its own, so
// that a change is at most three writes; the other objects are for all.
type writers struct {
	group        sync.WaitGroup
	mu           sync.Mutex // guards acknowledged
	acknowledged []string
}

// begin begins some more, which take the stores in turn, until each has made a number of
// changes or its store cannot be reached.
func (w *writers) begin(t *testing.T, names []string, changes int, stores ...*etcd2.Store) {
	for n, name := range names {
		w.group.Go(func() {
			random := rand.New(rand.NewSource(int64(n)))
			for i := range changes {
				kind := watchedKinds[random.Intn(len(watchedKinds))]
				id := fmt.Sprint("x", random.Intn(3))
				if kind == api.TaskKind {
					id = name + id
				}
				expected := []uint64{storage.Absent, storage.Present, storage.Any}[random.Intn(3)]
				change := storage.Update(objectOf(kind, id, i), expected)
				if random.Intn(3) == 0 {
					change = storage.Delete(api.DefaultKey(kind, id), storage.Any)
				}
				written, err := stores[(n+i)%len(stores)].Commit(change)
				if api.KindOf(err) == api.Unavailable {
					return
				}
				assert.Contains(t, []api.ErrorKind{"", api.NotFound, api.AlreadyExists}, api.KindOf(err), "%v", err)
				if err == nil && written[0] != nil {
					w.mu.Lock()
					w.acknowledged = append(w.acknowledged, textOf(written[0]))
					w.mu.Unlock()
				}
			}
		})
	}
}

// createOfEachKind creates objects that have an id.
func createOfEachKind(t *testing.T, store *etcd2.Store, id string) {
	for _, kind := range watchedKinds {
		_, err := store.Commit(storage.Create(objectOf(kind, id, 0)))
		require.NoError(t, err)
	}
}

// requireWhole requires that what a viewer was told leads to what is in etcd, change by
// change, and has every change that was acknowledged.
func requireWhole(t *testing.T, v *viewer, start uint64, shared etcdtest.Client, acknowledged []string) {
	objects, all := map[string]string{}, map[string]bool{}
	for _, event := range v.events {
		require.Greater(t, event.version, start)
		require.Equal(t, objects[event.id], event.before)
		start, objects[event.id], all[event.after] = event.version, event.after, true
		if event.after == "" {
			delete(objects, event.id)
		}
	}
	list, err := unhurried(shared).store.List(storage.Selection{Kind: v.kind})
	require.NoError(t, err)
	stored := map[string]string{}
	for _, object := range list.Items {
		stored[object.Key().ID] = textOf(object)
	}
	require.Equal(t, stored, objects)
	prefix := string(v.kind) + " "
	for _, object := range acknowledged {
		if strings.HasPrefix(object, prefix) {
			require.True(t, all[object], "%s is missed", object)
		}
	}
}

// Who watches through one apiserver sees what everybody else sees; and who goes on
// through another one, when that apiserver has ended, misses nothing.
func TestTwoWatchersThroughTwoApiserversSeeTheSameChangesInTheSameOrder(t *testing.T) {
	t.Parallel()
	shared := etcdtest.Own(t, etcd.New)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	first, second := following(ctx, t, shared), following(t.Context(), t, shared)
	start, err := first.Version()
	require.NoError(t, err)
	moving, staying := viewersAfter(start), viewersAfter(start)
	half := watchUntil(t.Context(), t, moving, first, "half")
	whole := watchUntil(t.Context(), t, staying, second, "end")
	var changes writers
	changes.begin(t, []string{"a", "b", "c", "d"}, 25, first, second)
	changes.group.Wait()
	createOfEachKind(t, first, "half")
	half()
	end()

	changes.begin(t, []string{"a", "b", "c", "d"}, 25, second)
	third := following(t.Context(), t, shared)
	rest := watchUntil(t.Context(), t, moving, third, "end")
	changes.begin(t, []string{"e", "f"}, 10, third)
	changes.group.Wait()
	createOfEachKind(t, third, "end")
	rest()
	whole()
	for i, viewer := range staying {
		assert.Equal(t, viewer.events, moving[i].events)
		requireWhole(t, viewer, start, shared, changes.acknowledged)
	}
}

// The same if the apiserver stops in the middle of its writes.
func TestWhoWatchedAnApiserverThatWasKilledMissesNothingThroughAnother(t *testing.T) {
	t.Parallel()
	for _, fate := range []etcdtest.Fate{etcdtest.StopsBefore, etcdtest.StopsAfter} {
		for _, call := range []int{15, 40, 100} {
			t.Run(fmt.Sprint(fate, " ", call), func(t *testing.T) {
				t.Parallel()
				shared := etcdtest.Own(t, etcd.New)
				faults := etcdtest.NewFaults(shared)
				killed, surviving := following(t.Context(), t, faults), following(t.Context(), t, shared)
				start, err := killed.Version()
				require.NoError(t, err)
				moving, staying := viewersAfter(start), viewersAfter(start)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				left := watchUntil(ctx, t, moving, killed, "end")
				whole := watchUntil(t.Context(), t, staying, surviving, "end")

				var doomed, others writers
				faults.FailAt(call, fate)
				doomed.begin(t, []string{"a", "b"}, 1000, killed)
				others.begin(t, []string{"c", "d"}, 25, surviving)
				doomed.group.Wait()
				require.GreaterOrEqual(t, len(faults.Calls()), call)
				leave()
				left()

				rest := watchUntil(t.Context(), t, moving, following(t.Context(), t, shared), "end")
				others.group.Wait()
				createOfEachKind(t, surviving, "end")
				rest()
				whole()
				for i, viewer := range staying {
					assert.Equal(t, viewer.events, moving[i].events)
					requireWhole(t, viewer, start, shared, slices.Concat(doomed.acknowledged, others.acknowledged))
				}
			})
		}
	}
}

// A new apiserver lets a watcher go on if few changes are between; if there are too many,
// the watcher is told to list again.
func TestAWatcherThatComesBackTooLateIsToldSo(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		changes int
		want    api.ErrorKind
	}{
		"not too late": {mirror.MaxEvents, ""},
		"too late":     {mirror.MaxEvents + 1, api.Expired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := etcdtest.NewFake()
			require.NoError(t, unhurried(fake).CreateController(makeController("x", 0)))
			last, err := unhurried(fake).store.Version()
			require.NoError(t, err)
			for i := range row.changes {
				put(t, fake, controllerKey("x"), makeController("x", i+1))
			}
			store := unhurried(fake).store
			watcher, err := store.Watch(storage.Selection{Kind: api.ControllerKind}, last)
			require.Equal(t, row.want, api.KindOf(err))
			if row.want == "" {
				events, err := watcher.Next(t.Context())
				require.NoError(t, err)
				assert.Len(t, events, row.changes)
			}
			again := watch(t, store, api.ControllerKind)
			require.NoError(t, unhurried(fake).DeleteController("x"))
			require.NoError(t, again.next(t, store))
			assert.Equal(t, []string{"DELETED x"}, again.told)
		})
	}
}
