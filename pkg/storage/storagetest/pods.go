package storagetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var podTests = []test{
	{"a pod gets its machine once, and its host ports with it", bindings},
	{"a watcher gets the binding of a pod as one change", watchedBinding},
	{"of two bindings of a pod at once, one wins", bindingRace},
	{"of pods that want a host port at once, one is bound", boundPortRace},
	{"a pod that is bound and deleted at once is gone, with its host ports", bindingBesideDelete},
	{"a pod that is bound and changed at once is both", bindingBesideUpdate},
	{"an object comes back as it was stored", onEachKind(asStored)},
}

// podOn returns a pod with host ports on a machine, "" for none yet.
func podOn(id, machine string, ports ...int) *api.Task {
	task := taskOn(id, machine, ports...)
	task.IsPod = true
	return task
}

// notPodOn returns a task of the first door with host ports on a machine.
func notPodOn(id, machine string, ports ...int) *api.Task {
	task := taskOn(id, machine, ports...)
	task.IsPod = false
	return task
}

func bindings(t *testing.T, h Harness) {
	unbound := func(ports ...int) storage.Change { return storage.Create(podOn("p", "", ports...)) }
	bind := func(machine string, ports ...int) storage.Change {
		return storage.Update(podOn("p", machine, ports...), storage.Present)
	}
	stale := func(machine string) storage.Change { return storage.Update(podOn("p", machine, 80), 1<<40) }
	for name, row := range map[string]struct {
		changes []storage.Change // of which the last one may fail
		want    api.ErrorKind
		there   bool
		machine string // of pod p afterwards, if it is there
		free    []int  // afterwards, on machine m1
		taken   []int
	}{
		"a pod without a machine has no host ports":              {[]storage.Change{unbound(80)}, "", true, "", []int{80}, nil},
		"two of them may want the same":                          {[]storage.Change{storage.Create(podOn("q", "", 80)), unbound(80)}, "", true, "", []int{80}, nil},
		"one that is made on a machine has them":                 {[]storage.Change{storage.Create(podOn("p", "m1", 80))}, "", true, "m1", []int{81}, []int{80}},
		"so has one that gets the machine":                       {[]storage.Change{unbound(80), bind("m1", 80)}, "", true, "m1", []int{81}, []int{80}},
		"it has those of its last version":                       {[]storage.Change{unbound(80), bind("m1", 81)}, "", true, "m1", []int{80}, []int{81}},
		"it may be changed before":                               {[]storage.Change{unbound(80), bind("", 81)}, "", true, "", []int{80, 81}, nil},
		"it may be changed afterwards":                           {[]storage.Change{unbound(80), bind("m1", 80), bind("m1", 81)}, "", true, "m1", []int{80}, []int{81}},
		"it does not move":                                       {[]storage.Change{unbound(80), bind("m1", 80), bind("m2", 81)}, api.Invalid, true, "m1", []int{81}, []int{80}},
		"it does not leave its machine":                          {[]storage.Change{unbound(80), bind("m1", 80), bind("", 81)}, api.Invalid, true, "m1", []int{81}, []int{80}},
		"a task of the first door has its port":                  {[]storage.Change{storage.Create(notPodOn("b", "m1", 80)), unbound(81, 80), bind("m1", 81, 80)}, api.HostPortTaken, true, "", []int{81}, []int{80}},
		"another pod has its port":                               {[]storage.Change{storage.Create(podOn("q", "m1", 80)), unbound(81, 80), bind("m1", 81, 80)}, api.HostPortTaken, true, "", []int{81}, []int{80}},
		"it has the port of another pod that is made":            {[]storage.Change{unbound(80), bind("m1", 80), storage.Create(podOn("q", "m1", 80))}, api.HostPortTaken, true, "m1", nil, []int{80}},
		"it has the port of a task that is made":                 {[]storage.Change{unbound(80), bind("m1", 80), storage.Create(notPodOn("b", "m1", 80))}, api.HostPortTaken, true, "m1", nil, []int{80}},
		"another pod has the port that it wants later":           {[]storage.Change{storage.Create(podOn("q", "m1", 80)), unbound(81), bind("m1", 81), bind("m1", 80)}, api.HostPortTaken, true, "m1", nil, []int{80, 81}},
		"who binds a version that is not the last one gets told": {[]storage.Change{unbound(80), stale("m1")}, api.Conflict, true, "", []int{80}, nil},
		"who deletes it frees them":                              {[]storage.Change{unbound(80), bind("m1", 80), storage.Delete(api.DefaultKey(api.TaskKind, "p"), storage.Present)}, "", false, "", []int{80}, nil},
		"who deletes one without a machine frees nothing":        {[]storage.Change{storage.Create(podOn("q", "m1", 80)), unbound(80), storage.Delete(api.DefaultKey(api.TaskKind, "p"), storage.Present)}, "", false, "", nil, []int{80}},
		"what is gone is not bound":                              {[]storage.Change{unbound(80), storage.Delete(api.DefaultKey(api.TaskKind, "p"), storage.Present), bind("m1", 80)}, api.NotFound, false, "", []int{80}, nil},
		"its id may be used again, elsewhere":                    {[]storage.Change{unbound(80), bind("m1", 80), storage.Delete(api.DefaultKey(api.TaskKind, "p"), storage.Present), unbound(80), bind("m2", 80)}, "", true, "m2", []int{80}, nil},
		"its id may be used again, by a task":                    {[]storage.Change{unbound(80), storage.Delete(api.DefaultKey(api.TaskKind, "p"), storage.Present), storage.Create(notPodOn("p", "m1", 80))}, "", true, "m1", nil, []int{80}},
		"its id is not that of a task":                           {[]storage.Change{unbound(80), storage.Create(notPodOn("p", "m1", 80))}, api.AlreadyExists, true, "", []int{80}, nil},
		"the id of a task is not that of a pod":                  {[]storage.Change{storage.Create(notPodOn("p", "m1", 80)), unbound(81)}, api.AlreadyExists, true, "m1", []int{81}, []int{80}},
		"nor that of a pod on another machine":                   {[]storage.Change{storage.Create(notPodOn("p", "m1", 80)), storage.Create(podOn("p", "m2", 81))}, api.AlreadyExists, true, "m1", []int{81}, []int{80}},
		"a pod does not become a task":                           {[]storage.Change{unbound(80), storage.Update(notPodOn("p", "m1", 80), storage.Present)}, api.Invalid, true, "", []int{80}, nil},
		"a task does not become a pod":                           {[]storage.Change{storage.Create(notPodOn("p", "m1", 80)), bind("m1", 81)}, api.Invalid, true, "m1", []int{81}, []int{80}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores := h.processes(t)
			last := len(row.changes) - 1
			for i, change := range row.changes[:last] {
				commit(t, stores[i%len(stores)], change)
			}
			before, err := allIn(stores[0])
			require.NoError(t, err)
			_, err = stores[last%len(stores)].Commit(row.changes[last])
			requireKind(t, row.want, err)
			for _, store := range stores {
				if row.want != "" {
					after, err := allIn(store)
					require.NoError(t, err)
					require.Equal(t, before, after)
				}
				for _, port := range row.free {
					assert.Equal(t, "m1", FirstFree(t, store, []string{"m1"}, taskOn("new", "", port)), "port %d", port)
				}
				for _, port := range row.taken {
					assert.Equal(t, "", FirstFree(t, store, []string{"m1"}, taskOn("new", "", port)), "port %d", port)
				}
				for _, reader := range []storage.Reader{store, cached(t, store)} {
					found, err := reader.Get(api.DefaultKey(api.TaskKind, "p"))
					if !row.there {
						requireKind(t, api.NotFound, err)
						continue
					}
					require.NoError(t, err)
					assert.Equal(t, row.machine, factsOf(found).machine)
				}
			}
		})
	}
}

func watchedBinding(t *testing.T, h Harness) {
	stores := h.processes(t)
	start := version(t, stores[0])
	writer := stores[len(stores)-1]
	created := commit(t, writer, storage.Create(podOn("p", "", 80)))[0]
	bound := commit(t, writer, storage.Update(podOn("p", "m1", 80), created.Version()))[0]
	changed := commit(t, writer, storage.Update(podOn("p", "m1", 81), bound.Version()))[0]
	commit(t, writer, storage.Delete(api.DefaultKey(api.TaskKind, "p"), changed.Version()))
	commit(t, writer, storage.Create(object(api.TaskKind, "end", 0)))
	for _, store := range stores {
		events := eventsUntilEnd(t, watch(t, store, api.TaskKind, start))
		require.Len(t, events, 4)
		assert.Equal(t, []seen{
			{storage.Added, created.Version(), facts{}, factsOf(created)},
			{storage.Modified, bound.Version(), factsOf(created), factsOf(bound)},
			{storage.Modified, changed.Version(), factsOf(bound), factsOf(changed)},
			{storage.Deleted, events[3].Version, factsOf(changed), facts{}},
		}, eventFacts(events))
		for _, event := range events[:3] {
			assert.Equal(t, api.UIDOf(created), api.UIDOf(event.After))
		}
	}
}

// each lets workers do something at once, and returns their errors.
func each(workers int, do func(w int) error) []error {
	errs := make([]error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() { errs[w] = do(w) })
	}
	group.Wait()
	return errs
}

// countKinds returns how many errors there are of each kind.
func countKinds(errs []error) map[api.ErrorKind]int {
	count := map[api.ErrorKind]int{}
	for _, err := range errs {
		count[api.KindOf(err)]++
	}
	return count
}

func bindingRace(t *testing.T, h Harness) {
	const workers = 6
	stores := h.processes(t)
	for round := range h.rounds(100) {
		id, port := fmt.Sprint("x", round), 1000+round
		machine := func(w int) string { return fmt.Sprint("m", w%3) }
		unbound := commit(t, stores[0], storage.Create(podOn(id, "", port)))[0]
		errs := each(workers, func(w int) error {
			_, err := stores[w%len(stores)].Commit(storage.Update(podOn(id, machine(w), port), unbound.Version()))
			return err
		})
		require.Equal(t, map[api.ErrorKind]int{"": 1, api.Conflict: workers - 1}, countKinds(errs), "%v", errs)
		for w, err := range errs {
			for _, store := range stores {
				bound := factsOf(get(t, store, api.TaskKind, id))
				assert.Equal(t, unbound.Meta().CreationVersion, bound.created)
				if err == nil {
					require.Equal(t, machine(w), bound.machine)
				}
				if machine(w) == bound.machine {
					assert.Empty(t, FirstFree(t, store, []string{machine(w)}, taskOn("new", "", port)))
				} else {
					assert.NotEmpty(t, FirstFree(t, store, []string{machine(w)}, taskOn("new", "", port)), "who loses leaves nothing")
				}
			}
		}
	}
}

func boundPortRace(t *testing.T, h Harness) {
	const workers = 6
	stores := h.processes(t)
	for round := range h.rounds(100) {
		id := func(w int) string { return fmt.Sprint("x", round, "-", w) }
		for w := range workers / 2 {
			commit(t, stores[0], storage.Create(podOn(id(w), "", 1000+round)))
		}
		errs := each(workers, func(w int) error {
			change := storage.Create(podOn(id(w), "m1", 1000+round))
			if w < workers/2 {
				change = storage.Update(podOn(id(w), "m1", 1000+round), storage.Present)
			}
			_, err := stores[w%len(stores)].Commit(change)
			return err
		})
		require.Equal(t, map[api.ErrorKind]int{"": 1, api.HostPortTaken: workers - 1}, countKinds(errs), "%v", errs)
		for w, err := range errs {
			found, missing := stores[w%len(stores)].Get(api.DefaultKey(api.TaskKind, id(w)))
			switch {
			case err == nil:
				assert.Equal(t, "m1", factsOf(found).machine)
			case w < workers/2:
				assert.Equal(t, "", factsOf(found).machine)
			default:
				requireKind(t, api.NotFound, missing)
			}
		}
	}
}

func bindingBesideDelete(t *testing.T, h Harness) {
	stores := h.processes(t)
	for round := range h.rounds(100) {
		id, port := fmt.Sprint("x", round), 1000+round
		commit(t, stores[0], storage.Create(podOn(id, "", port)))
		errs := each(3, func(w int) error {
			change := storage.Update(podOn(id, fmt.Sprint("m", w), port), storage.Present)
			if w == 0 {
				change = storage.Delete(api.DefaultKey(api.TaskKind, id), storage.Present)
			}
			_, err := stores[w%len(stores)].Commit(change)
			return err
		})
		require.NoError(t, errs[0])
		for _, err := range errs[1:] {
			require.Contains(t, []api.ErrorKind{"", api.NotFound, api.Invalid}, api.KindOf(err), "%v", err)
		}
		for _, store := range stores {
			_, err := store.Get(api.DefaultKey(api.TaskKind, id))
			requireKind(t, api.NotFound, err)
			for _, machine := range []string{"m1", "m2"} {
				assert.Equal(t, machine, FirstFree(t, store, []string{machine}, taskOn("new", "", port)))
			}
		}
	}
}

func bindingBesideUpdate(t *testing.T, h Harness) {
	stores := h.processes(t)
	for round := range h.rounds(100) {
		id, port := fmt.Sprint("x", round), 1000+round
		commit(t, stores[0], storage.Create(podOn(id, "", port)))
		errs := each(2, func(w int) error {
			_, err := storage.GuaranteedUpdate(stores[w%len(stores)], api.DefaultKey(api.TaskKind, id), func(stored *storage.Object) (api.Object, error) {
				next := stored.Object.(*api.Task).DeepCopy()
				if w == 0 {
					next.CurrentState.Host = "m1"
				} else {
					next.Labels = map[string]string{"name": "web"}
				}
				return &next, nil
			})
			return err
		})
		require.Equal(t, map[api.ErrorKind]int{"": 2}, countKinds(errs), "%v", errs)
		for _, store := range stores {
			found := factsOf(get(t, store, api.TaskKind, id))
			assert.Equal(t, "m1", found.machine)
			assert.Equal(t, "map[name:web]", found.labels)
			assert.Equal(t, "", FirstFree(t, store, []string{"m1"}, taskOn("new", "", port)))
		}
	}
}

// asStored compares all that is known of an object with what other processes know.
func asStored(t *testing.T, h Harness, kind api.Kind) {
	whole := func(id string, mark int) api.Object {
		made := labelled(kind, id, mark, map[string]string{"name": "web"})
		*made.Meta() = api.ObjectMeta{
			Namespace: made.Meta().Namespace, UID: "an own one of " + id, CreationTime: time.Date(2014, 6, 6, 12, 0, mark, 123456789, time.UTC),
			Annotations: map[string]string{"a": "\"<&>\"\n", "": ""}, Remainder: api.Remainder(fmt.Sprintf(`{"spec":{"a":["<&>",1e3,null,%d]}}`, mark)),
		}
		switch o := made.(type) {
		case *api.Service:
			o.SelectsNothing = true
		case *api.Endpoints:
			o.Targets, o.Managed = []api.Target{{TaskID: "a", UID: "u"}, {}}, true
		}
		return made
	}
	stores := h.processes(t)
	for i, id := range []string{"w", "x"} {
		for mark, expected := range []uint64{storage.Absent, storage.Present, storage.Any} {
			writer := stores[(i+mark)%len(stores)]
			written := commit(t, writer, storage.Update(whole(id, mark), expected))[0]
			want := whole(id, mark)
			want.Meta().ResourceVersion, want.Meta().CreationVersion = written.Version(), written.Meta().CreationVersion
			for _, store := range stores {
				require.Equal(t, want, get(t, store, kind, id).Object)
				require.Equal(t, want, get(t, cached(t, store), kind, id).Object)
				require.Equal(t, "an own one of "+id, api.UIDOf(get(t, store, kind, id)))
			}
		}
	}
}
