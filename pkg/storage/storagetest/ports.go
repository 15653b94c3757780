package storagetest

import (
	"fmt"
	"iter"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

var portTests = []test{
	{"a host port of a machine has one owner", onePortOwner},
	{"the owners of host ports agree with a model after random changes", portModel},
	{"of those who want a host port at once, one gets it", portRace},
}

// FirstFree returns the first of the machines on which a task's host ports are free, empty for none.
func FirstFree(t *testing.T, store storage.Reader, machines []string, task *api.Task) string {
	free, err := store.FirstFree(OnEach(machines, *task))
	require.NoError(t, err)
	if free == nil {
		return ""
	}
	return free.(*api.Task).CurrentState.Host
}

// OnEach passes on a task as it would be on each of the machines.
func OnEach(machines []string, task api.Task) iter.Seq[api.Object] {
	return func(send func(api.Object) bool) {
		for _, machine := range machines {
			placed := task
			if placed.CurrentState.Host = machine; !send(&placed) {
				return
			}
		}
	}
}

func onePortOwner(t *testing.T, h Harness) {
	for name, row := range map[string]struct {
		changes []storage.Change // of which the last one may fail
		want    api.ErrorKind
		free    []int // afterwards, on machine m1
		taken   []int
	}{
		"a port is taken by its task": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80, 81))}, "", []int{82}, []int{80, 81}},
		"a second task is refused": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80)), storage.Create(taskOn("b", "m1", 80))}, api.HostPortTaken, []int{81}, []int{80}},
		"who is refused takes nothing, if the taken port is its first": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80)), storage.Create(taskOn("b", "m1", 80, 81))}, api.HostPortTaken, []int{81}, []int{80}},
		"who is refused takes nothing, if the taken port is its last": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80)), storage.Create(taskOn("b", "m1", 81, 80))}, api.HostPortTaken, []int{81}, []int{80}},
		"an update that is refused keeps what it had": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80)), storage.Create(taskOn("b", "m1", 81)), storage.Update(taskOn("b", "m1", 82, 80), storage.Present)},
			api.HostPortTaken, []int{82}, []int{80, 81}},
		"an update that expects another version takes nothing": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80)), storage.Update(taskOn("a", "m1", 81), 1<<40)}, api.Conflict, []int{81}, []int{80}},
		"a task keeps its own ports in an update": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80, 81)), storage.Update(taskOn("a", "m1", 81, 80), storage.Present)}, "", []int{82}, []int{80, 81}},
		"an update may give up a port and take another one": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80, 81)), storage.Update(taskOn("a", "m1", 81, 82), storage.Present)}, "", []int{80}, []int{81, 82}},
		"what an update gave up, another task may take": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80)), storage.Update(taskOn("a", "m1"), storage.Present), storage.Create(taskOn("b", "m1", 80))},
			"", []int{81}, []int{80}},
		"a deletion frees the ports": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80, 81)), storage.Delete(api.DefaultKey(api.TaskKind, "a"), storage.Present)}, "", []int{80, 81}, nil},
		"what a deletion freed, another task may take": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80)), storage.Delete(api.DefaultKey(api.TaskKind, "a"), storage.Any), storage.Create(taskOn("b", "m1", 80))},
			"", nil, []int{80}},
		"each machine has its own ports": {
			[]storage.Change{storage.Create(taskOn("a", "m2", 80)), storage.Create(taskOn("b", "m1", 81)), storage.Create(taskOn("c", "m2", 81))}, "", []int{80}, []int{81}},
		"a task does not move to another machine": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80)), storage.Update(taskOn("a", "m2", 81), storage.Present)}, api.Invalid, []int{81}, []int{80}},
		"port 0 is none": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 0)), storage.Create(taskOn("b", "m1", 0, 80))}, "", []int{0}, []int{80}},
		"an object of another kind with the same id does not matter": {
			[]storage.Change{storage.Create(taskOn("a", "m1", 80)), storage.Create(object(api.ServiceKind, "a", 80)), storage.Delete(api.DefaultKey(api.ServiceKind, "a"), storage.Present)},
			"", nil, []int{80}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores := h.processes(t)
			last := len(row.changes) - 1
			for i, change := range row.changes[:last] {
				commit(t, stores[i%len(stores)], change)
			}
			_, err := stores[last%len(stores)].Commit(row.changes[last])
			requireKind(t, row.want, err)
			for _, store := range stores {
				for _, port := range row.free {
					assert.Equal(t, "m1", FirstFree(t, store, []string{"m1"}, taskOn("new", "", port)), "port %d", port)
				}
				for _, port := range row.taken {
					assert.Equal(t, "", FirstFree(t, store, []string{"m1"}, taskOn("new", "", port)), "port %d", port)
				}
			}
		})
	}
}

// portOwners is the model: the task of each machine and host port.
type portOwners map[string]string

func (o portOwners) isFree(machine string, task *api.Task) bool {
	return machine == "" || !slices.ContainsFunc(task.HostPorts(), func(port int) bool {
		owner := o[fmt.Sprint(machine, port)]
		return owner != "" && owner != task.ID
	})
}

func (o portOwners) set(task *api.Task, owner string) {
	if task.CurrentState.Host == "" {
		return
	}
	for _, port := range task.HostPorts() {
		if o[fmt.Sprint(task.CurrentState.Host, port)] = owner; owner == "" {
			delete(o, fmt.Sprint(task.CurrentState.Host, port))
		}
	}
}

func portModel(t *testing.T, h Harness) {
	stores := h.processes(t)
	random := rand.New(rand.NewSource(3))
	machines := []string{"m1", "m2", "m3", "m4"}
	randomTask := func() *api.Task {
		ports := random.Perm(6)[:random.Intn(4)] // of which 0 is none
		task := taskOn(fmt.Sprint("x", random.Intn(12)), machines[random.Intn(len(machines))], ports...)
		if random.Intn(3) == 0 {
			unplaced(task)
		}
		return task
	}
	owners, tasks := portOwners{}, map[string]*api.Task{}
	refused := 0
	for range h.rounds(3000) {
		store := stores[random.Intn(len(stores))]
		task := randomTask()
		before := tasks[task.ID]
		if before != nil && before.CurrentState.Host != "" {
			task.CurrentState.Host = before.CurrentState.Host
		}
		if random.Intn(4) == 0 {
			commit(t, store, storage.Delete(api.DefaultKey(api.TaskKind, task.ID), storage.Any))
			if before != nil {
				owners.set(before, "")
				delete(tasks, task.ID)
			}
		} else {
			kept := task.DeepCopy() // the store owns the other one
			_, err := store.Commit(storage.Update(task, storage.Any))
			if owners.isFree(kept.CurrentState.Host, &kept) {
				require.NoError(t, err)
				if before != nil {
					owners.set(before, "")
				}
				owners.set(&kept, kept.ID)
				tasks[kept.ID] = &kept
			} else {
				requireKind(t, api.HostPortTaken, err)
				refused++
			}
		}
		wanted := randomTask()
		order := slices.Clone(machines)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		order = order[:random.Intn(len(order)+1)]
		want := ""
		if i := slices.IndexFunc(order, func(machine string) bool { return owners.isFree(machine, wanted) }); i >= 0 {
			want = order[i]
		}
		require.Equal(t, want, FirstFree(t, stores[random.Intn(len(stores))], order, wanted))
		require.Equal(t, want, FirstFree(t, cached(t, store), order, wanted))
	}
	assert.Positive(t, refused)
}

func portRace(t *testing.T, h Harness) {
	const workers = 8
	stores := h.processes(t)
	for round := range h.rounds(100) {
		var won atomic.Int64
		var group sync.WaitGroup
		for w := range workers {
			store := stores[w%len(stores)]
			group.Go(func() {
				machine := fmt.Sprint("m", w%2)
				_, err := store.Commit(storage.Create(taskOn(fmt.Sprint("x", round, "-", w), machine, 1000+round, 2000+round, 10000+round*workers+w)))
				if err == nil {
					won.Add(1)
				} else {
					assert.Equal(t, api.HostPortTaken, api.KindOf(err), "%v", err)
				}
			})
		}
		group.Wait()
		require.EqualValues(t, 2, won.Load(), "one on each machine")
	}
	taken := map[string]string{}
	tasks := list(t, stores[0], api.TaskKind, nil).Items
	for _, item := range tasks {
		task := item.Object.(*api.Task)
		for _, port := range task.HostPorts() {
			key := fmt.Sprint(task.CurrentState.Host, port)
			assert.Empty(t, taken[key])
			taken[key] = task.ID
		}
	}
	assert.Len(t, taken, 3*len(tasks))
}
