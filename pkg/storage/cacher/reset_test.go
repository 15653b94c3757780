package cacher

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// taskOn returns a task on a machine.
func taskOn(machine, id string, version uint64, ports ...int) *storage.Object {
	task := &api.Task{JSONBase: api.JSONBase{ID: id}, Labels: map[string]string{"name": "web"}}
	task.CurrentState.Host = machine
	container := api.Container{}
	for _, port := range ports {
		container.Ports = append(container.Ports, api.Port{HostPort: port})
	}
	task.DesiredState.Manifest.Containers = []api.Container{container}
	return storage.NewObject(task, version, version)
}

func replace(before, after *storage.Object, version uint64) func(*Tx) error {
	return func(tx *Tx) error { tx.Replace(before, after, version); return nil }
}

// machines returns where the tasks are, in their order.
func machines(objects []*storage.Object) (all []string) {
	for _, object := range objects {
		all = append(all, object.Object.(*api.Task).CurrentState.Host)
	}
	return all
}

func TestAResetPutsOtherObjectsIntoThePlaceOfAll(t *testing.T) {
	t.Parallel()
	cache := New(1)
	require.NoError(t, cache.Update(replace(nil, taskOn("m", "old", 2, 80), 2)))
	cache.Reset(9, []*storage.Object{taskOn("m", "new", 7, 81)})

	_, err := cache.Get(api.DefaultKey(api.TaskKind, "old"))
	assert.Equal(t, api.NotFound, api.KindOf(err))
	for _, labels := range []map[string]string{nil, {"name": "web"}} {
		list, err := cache.List(storage.Selection{Kind: api.TaskKind, Labels: labels})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		assert.Equal(t, "new", list.Items[0].Key().ID)
		assert.EqualValues(t, 9, list.Version)
	}
	for port, free := range map[int]string{80: "m", 81: ""} {
		assert.Equal(t, free, firstFree(t, cache, taskOn("", "x", 0, port).Object.(*api.Task), "m"), port)
	}
}

// Whoever watches would miss changes: he is told so, and can begin at the new version.
func TestAResetCutsOffThoseWhoWatch(t *testing.T) {
	t.Parallel()
	for name, events := range map[string]uint64{"with events that were not read": 3, "with none": 0} {
		cache := New(1)
		watcher, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 1)
		require.NoError(t, err)
		for version := range events {
			require.NoError(t, cache.Update(replace(nil, taskOn("m", string(rune('a'+version)), version+2), version+2)))
		}
		cache.Reset(9, nil)
		for range 2 {
			_, err = watcher.Next(context.Background())
			assert.Equal(t, api.Expired, api.KindOf(err), name)
		}
		_, err = cache.Watch(storage.Selection{Kind: api.TaskKind}, 8)
		assert.Equal(t, api.Expired, api.KindOf(err), name)
		again, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 9)
		require.NoError(t, err)
		require.NoError(t, cache.Update(replace(nil, taskOn("m", "x", 10), 10)))
		got, err := again.Next(context.Background())
		require.NoError(t, err)
		require.Len(t, got, 1, name)
		assert.EqualValues(t, 10, got[0].Version)
	}
}

// Not every change of a store changes an object, but each makes its version larger.
func TestAVersionWithoutAnEventCanBeWatchedFrom(t *testing.T) {
	t.Parallel()
	cache := New(1)
	require.NoError(t, cache.Update(func(tx *Tx) error {
		tx.Skip(5)
		assert.EqualValues(t, 5, tx.Version())
		return nil
	}))
	version, err := cache.Version()
	require.NoError(t, err)
	assert.EqualValues(t, 5, version)
	watcher, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 5)
	require.NoError(t, err)
	require.NoError(t, cache.Update(replace(nil, taskOn("m", "x", 6), 6)))
	got, err := watcher.Next(context.Background())
	require.NoError(t, err)
	assert.Len(t, got, 1)
}

// Another program may give two tasks the same id, and the same host port.
func TestTasksWithOneIDOnTwoMachinesAreTwo(t *testing.T) {
	t.Parallel()
	cache := New(0)
	var version uint64
	add := func(task *storage.Object) *storage.Object {
		version++
		require.NoError(t, cache.Update(replace(nil, task, version)))
		return task
	}
	second := add(taskOn("m2", "x", 1, 80))
	add(taskOn("m1", "x", 2, 80))
	add(taskOn("m0", "x-1", 3))
	list, err := cache.List(storage.Selection{Kind: api.TaskKind})
	require.NoError(t, err)
	assert.Equal(t, []string{"m1", "m2", "m0"}, machines(list.Items))
	assert.Equal(t, []string{"m1", "m2"}, machines(cache.All(api.DefaultKey(api.TaskKind, "x"))))
	assert.Empty(t, cache.All(api.DefaultKey(api.TaskKind, "y")))
	first, err := cache.Get(api.DefaultKey(api.TaskKind, "x"))
	require.NoError(t, err)
	assert.Equal(t, []string{"m1"}, machines([]*storage.Object{first}))

	thief := add(taskOn("m1", "thief", 4, 80))
	require.NoError(t, cache.Update(replace(first, nil, 5)))
	assert.Equal(t, []string{"m2"}, machines(cache.All(api.DefaultKey(api.TaskKind, "x"))))
	assert.Empty(t, firstFree(t, cache, taskOn("", "y", 0, 80).Object.(*api.Task), "m1"), "the other task on the machine still has the port")
	require.NoError(t, cache.Update(replace(second, nil, 6)))
	require.NoError(t, cache.Update(replace(thief, nil, 7)))
	assert.Empty(t, cache.All(api.DefaultKey(api.TaskKind, "x")))
}

func TestWhatHasGoneIsShownOnceMoreWithTheVersionOfItsEnd(t *testing.T) {
	t.Parallel()
	cache := New(1)
	first, second := taskOn("m", "x", 2), taskOn("m", "x", 3)
	for version, step := range []struct{ before, after *storage.Object }{{nil, first}, {first, second}, {second, nil}} {
		require.NoError(t, cache.Update(replace(step.before, step.after, uint64(version+2))))
	}
	var shown [2][]*storage.Object
	for i := range shown {
		watcher, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 2)
		require.NoError(t, err)
		events, err := watcher.Next(t.Context())
		require.NoError(t, err)
		for _, event := range events {
			shown[i] = append(shown[i], event.Last())
			assert.Equal(t, event.Version, event.Last().Version())
			assert.Equal(t, event.Before.Meta().CreationVersion, event.Last().Meta().CreationVersion)
			assert.Equal(t, event.Version-1, event.Before.Version(), "the object itself is not changed")
		}
	}
	require.Len(t, shown[0], 2)
	for i := range shown[0] {
		assert.Same(t, shown[0][i], shown[1][i], "all who watch get the same one")
	}
	again := storage.Event{Type: storage.Deleted, Version: 9, Before: first}
	assert.EqualValues(t, 9, again.Last().Version(), "another store's version of the change")
}

func TestAWatcherTellsHowFarItHasLooked(t *testing.T) {
	t.Parallel()
	cache := New(1)
	watcher, err := cache.Watch(storage.Selection{Kind: api.ServiceKind}, 1)
	require.NoError(t, err)
	assert.EqualValues(t, 1, watcher.Version())
	require.NoError(t, cache.Update(replace(nil, taskOn("m", "x", 2), 2)))
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = watcher.Next(ended)
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualValues(t, 2, watcher.Version(), "there was nothing for it")

	tasks, err := cache.Watch(storage.Selection{Kind: api.TaskKind}, 1)
	require.NoError(t, err)
	for version := uint64(3); version < maxBatch+10; version++ {
		require.NoError(t, cache.Update(replace(nil, taskOn("m", strconv.FormatUint(version, 10), version), version)))
	}
	for _, until := range []uint64{maxBatch + 1, maxBatch + 9} {
		_, err = tasks.Next(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, until, tasks.Version())
	}
}
