package registry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// writes records which endpoints are written, and fails chosen writes.
type writes struct {
	*MemoryRegistry
	fail map[string]error

	mu    sync.Mutex // guards names
	names []string
}

func (w *writes) UpdateEndpoints(endpoints api.Endpoints) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = append(w.names, endpoints.Name)
	if err := w.fail[endpoints.Name]; err != nil {
		return err
	}
	return w.MemoryRegistry.UpdateEndpoints(endpoints)
}

// taken returns the writes since the last call.
func (w *writes) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := w.names
	w.names = nil
	return names
}

func (w *writes) known(t *testing.T) map[string][]string {
	_, endpoints, err := servicesAndEndpoints(w)
	require.NoError(t, err)
	known := map[string][]string{}
	for name := range maps.Keys(endpoints) {
		known[name] = endpoints[name].Endpoints
	}
	return known
}

func selecting(id string, labels map[string]string) api.Service {
	return api.Service{JSONBase: api.JSONBase{ID: id}, Port: 1, Labels: labels}
}

func containers(task api.Task, containers ...api.Container) api.Task {
	task.DesiredState.Manifest.Containers = containers
	return task
}

func TestD38TheEndpointOfATaskIsItsFirstHostPort(t *testing.T) {
	t.Parallel()
	port := func(ports ...int) api.Container {
		var container api.Container
		for _, p := range ports {
			container.Ports = append(container.Ports, api.Port{HostPort: p, ContainerPort: 80})
		}
		return container
	}
	for name, row := range map[string]struct {
		task    api.Task
		address string
	}{
		"its host port":                                {on("m1", makeTask("x", 80)), "m1:80"},
		"the first of its host ports":                  {on("m1", makeTask("x", 81, 80)), "m1:81"},
		"an IPv6 machine in brackets":                  {on("::1", makeTask("x", 80)), "[::1]:80"},
		"D38: a container without ports is passed":     {on("m1", containers(makeTask("x"), port(), port(82), port(83))), "m1:82"},
		"D38: a port without a host port is passed":    {on("m1", makeTask("x", 0, 80)), "m1:80"},
		"D38: it may be a port of a later container":   {on("m1", containers(makeTask("x"), port(0), port(0, 82))), "m1:82"},
		"D38: none when no port is a port of the host": {on("m1", makeTask("x", 0, 0)), ""},
		"none without containers (D20)":                {on("m1", containers(makeTask("x"))), ""},
		"none without ports (D20)":                     {on("m1", makeTask("x")), ""},
		"none without a machine":                       {makeTask("x", 80), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, ok := endpointOf(row.task)
			assert.Equal(t, row.address, address)
			assert.Equal(t, row.address != "", ok)
		})
	}
}

func TestEndpointsAreThoseOfTheTasksThatAServiceSelects(t *testing.T) {
	t.Parallel()
	registry := &writes{MemoryRegistry: MakeMemoryRegistry()}
	web := map[string]string{"name": "web"}
	require.NoError(t, registry.CreateTask("m2", labelled(makeTask("b", 80), web)))
	require.NoError(t, registry.CreateTask("m1", labelled(makeTask("c", 81), map[string]string{"name": "web", "tier": "front"})))
	require.NoError(t, registry.CreateTask("m1", labelled(makeTask("a", 80), web)))
	require.NoError(t, registry.CreateTask("m1", labelled(makeTask("batch"), web))) // D20
	require.NoError(t, registry.CreateTask("m1", makeTask("other", 82)))
	require.NoError(t, registry.CreateService(selecting("web", web)))
	require.NoError(t, registry.CreateService(selecting("front", map[string]string{"name": "web", "tier": "front"})))
	require.NoError(t, registry.CreateService(selecting("nobody", map[string]string{"name": "nobody"})))
	require.NoError(t, registry.CreateService(selecting("everything", nil)))

	require.NoError(t, MakeEndpointController(registry, registry).SyncServiceEndpoints())
	assert.Equal(t, map[string][]string{
		"web":        {"m1:80", "m2:80", "m1:81"}, // by task id: a, b, c
		"front":      {"m1:81"},
		"nobody":     {},
		"everything": {"m1:80", "m2:80", "m1:81", "m1:82"},
	}, registry.known(t))
}

func TestEndpointsAreAsOldAsTheirServiceUnlessTheFirstDoorMadeIt(t *testing.T) {
	t.Parallel()
	registry := MakeMemoryRegistry()
	controller := MakeEndpointController(registry, registry)
	made := time.Date(2026, 6, 6, 12, 0, 0, 0, time.UTC)
	today := makeService("today", 1)
	today.CreationTime = made
	require.NoError(t, registry.CreateService(today))
	require.NoError(t, registry.CreateService(makeService("june", 1)))
	for _, task := range []string{"", "x"} { // the second time there is something else to write
		if task != "" {
			require.NoError(t, registry.CreateTask("m", labelled(makeTask(task, 80), map[string]string{"name": "today"})))
		}
		require.NoError(t, controller.SyncServiceEndpoints())
		for name, want := range map[string]time.Time{"today": made, "june": {}} {
			stored, err := registry.Objects().Get(api.DefaultKey(api.EndpointsKind, name))
			require.NoError(t, err)
			assert.Equal(t, want, stored.Object.Meta().CreationTime, name)
		}
	}
}

// D31: endpoints are written when they change.
func TestD31UnchangedEndpointsAreNotWritten(t *testing.T) {
	t.Parallel()
	registry := &writes{MemoryRegistry: MakeMemoryRegistry()}
	controller := MakeEndpointController(registry, registry)
	sync := func() []string {
		require.NoError(t, controller.SyncServiceEndpoints())
		return registry.taken()
	}
	require.NoError(t, registry.CreateService(makeService("a", 1)))
	require.NoError(t, registry.CreateService(makeService("b", 1)))
	assert.Equal(t, []string{"a", "b"}, sync(), "new services, though empty")
	assert.Empty(t, sync())
	require.NoError(t, registry.CreateTask("m", labelled(makeTask("x", 80), map[string]string{"name": "a"})))
	assert.Equal(t, []string{"a"}, sync())
	assert.Empty(t, sync())
	require.NoError(t, registry.DeleteService("a"))
	require.NoError(t, registry.CreateService(makeService("a", 1)))
	assert.Equal(t, []string{"a"}, sync(), "a service that was deleted and made again")
	require.NoError(t, registry.DeleteTask("x"))
	assert.Equal(t, []string{"a"}, sync())
	assert.Equal(t, map[string][]string{"a": {}, "b": {}}, registry.known(t))
}

func TestASyncLooksAtNothingWhileNothingChanges(t *testing.T) {
	t.Parallel()
	registry := MakeMemoryRegistry()
	require.NoError(t, registry.CreateService(makeService("a", 1)))
	controller := MakeEndpointController(registry, registry)
	version := func() uint64 {
		require.NoError(t, controller.SyncServiceEndpoints())
		return controller.synced
	}
	first := version()
	assert.Equal(t, first, version())
	now, err := registry.Objects().Version()
	require.NoError(t, err)
	assert.Equal(t, now, first, "the own writes are no change")
	require.NoError(t, registry.CreateTask("m", labelled(makeTask("x", 80), map[string]string{"name": "a"})))
	assert.Greater(t, version(), first)
	stored, err := registry.Objects().Get(api.DefaultKey(api.EndpointsKind, "a"))
	require.NoError(t, err)
	assert.Equal(t, []string{"m:80"}, stored.Object.(*api.Endpoints).Endpoints)
}

// K72.
func TestEndpointsThatSomebodyElseKeepsAreLeftAlone(t *testing.T) {
	onEachBackend(t, func(t *testing.T, registry backend) {
		controller := MakeEndpointController(registry, registry)
		now := func() []string {
			require.NoError(t, controller.SyncServiceEndpoints())
			stored, err := objectsOf(registry).Get(api.DefaultKey(api.EndpointsKind, "a"))
			require.NoError(t, err)
			return stored.Object.(*api.Endpoints).Endpoints
		}
		require.NoError(t, registry.CreateService(makeService("a", 1)))
		require.NoError(t, registry.CreateTask("m", labelled(makeTask("x", 80), map[string]string{"name": "a"})))
		assert.Equal(t, []string{"m:80"}, now())
		require.NoError(t, registry.UpdateEndpoints(api.Endpoints{Name: "a", Endpoints: []string{"10.0.0.1:8080"}, Managed: true}))
		assert.Equal(t, []string{"10.0.0.1:8080"}, now())
		require.NoError(t, registry.DeleteTask("x"))
		assert.Equal(t, []string{"10.0.0.1:8080"}, now())
		require.NoError(t, registry.UpdateEndpoints(api.Endpoints{Name: "a", Endpoints: []string{"10.0.0.1:8080"}}))
		assert.Equal(t, []string{}, now(), "nobody else keeps them any more")

		require.NoError(t, registry.UpdateEndpoints(api.Endpoints{Name: "a", Endpoints: []string{"10.0.0.1:8080"}, Managed: true}))
		require.NoError(t, registry.CreateTask("m", makeTask("y", 81)))
		require.NoError(t, registry.UpdateService(selecting("a", nil)))
		assert.Equal(t, []string{"m:81"}, now(), "a service that selects all tasks, which today's API cannot say")
	})
}

func TestAControllerTellsOfChangesOfTasksAndServices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(0)
		registry := MakeRegistry(store)
		ctx, stop := context.WithCancel(t.Context())
		changes := MakeEndpointController(registry, registry).Changes(ctx)
		for _, row := range []struct {
			change func() error
			told   bool
		}{
			{func() error { return nil }, true}, // what changed before
			{func() error { return registry.CreateService(makeService("a", 1)) }, true},
			{func() error { return registry.UpdateEndpoints(api.Endpoints{Name: "a"}) }, false},
			{func() error { return registry.CreateController(makeController("a", 1)) }, false},
			{func() error { return registry.CreateTask("m", makeTask("x", 80)) }, true},
			{func() error { return registry.UpdateTask(makeTask("x", 81)) }, true},
			{func() error { return registry.DeleteTask("x") }, true},
			{func() error { store.Reset(99, nil); return nil }, true}, // the watchers are cut off
			{func() error { return registry.CreateService(makeService("a", 1)) }, true},
			{func() error { stop(); return nil }, false},
			{func() error { return registry.DeleteService("a") }, false},
		} {
			require.NoError(t, row.change())
			synctest.Wait()
			select {
			case <-changes:
				assert.True(t, row.told)
			default:
				assert.False(t, row.told)
			}
		}
	})
}

// paused is a store that waits before it tells its version.
type paused struct {
	*memory.Store
	asked, answer chan struct{}
}

func (p paused) Cached() storage.Reader { return p }

func (p paused) Version() (uint64, error) {
	p.asked <- struct{}{}
	<-p.answer
	return p.Store.Version()
}

// Tasks and services have a watcher each.
func TestAControllerTellsOfAChangeThatComesJustBeforeItWatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := paused{memory.New(0), make(chan struct{}), make(chan struct{})}
		registry := MakeRegistry(store)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		changes := MakeEndpointController(registry, registry).Changes(ctx)
		for i, cutOff := range []func(){func() {}, func() { store.Reset(99, nil) }} {
			cutOff()
			<-store.asked
			<-store.asked
			select {
			case <-changes: // somebody syncs
			default:
			}
			require.NoError(t, registry.CreateService(makeService(strconv.Itoa(i), 1)))
			store.answer <- struct{}{}
			store.answer <- struct{}{}
			synctest.Wait()
			assert.Len(t, changes, 1)
		}
	})
}

func TestOneServiceThatFailsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	registry := &writes{MemoryRegistry: MakeMemoryRegistry(), fail: map[string]error{
		"a": errors.New("a broke"),
		"b": api.NewNotFound("service", "b"), // deleted between the list and the write
		"c": errors.New("c broke"),
	}}
	for _, id := range []string{"a", "b", "c", "d"} {
		require.NoError(t, registry.CreateService(makeService(id, 1)))
	}
	err := MakeEndpointController(registry, registry).SyncServiceEndpoints()
	assert.EqualError(t, err, "endpoint sync: service a: a broke\nendpoint sync: service c: c broke")
	assert.Equal(t, []string{"d"}, slices.Sorted(maps.Keys(registry.known(t))))
}

// D27: a list that cannot be read does not count as empty.
func TestD27ASyncThatCannotReadWritesNothing(t *testing.T) {
	t.Parallel()
	registry := &writes{MemoryRegistry: MakeMemoryRegistry()}
	require.NoError(t, registry.CreateService(makeService("a", 1)))
	requireKind(t, api.Unavailable, MakeEndpointController(registry, away()).SyncServiceEndpoints())
	assert.Empty(t, registry.taken())
}

func TestASyncBesideWritersIsSafe(t *testing.T) {
	t.Parallel()
	registry := &writes{MemoryRegistry: MakeMemoryRegistry()}
	controller := MakeEndpointController(registry, registry)
	var group sync.WaitGroup
	for i, id := range []string{"a", "b", "c", "d"} {
		group.Go(func() {
			for range 25 {
				assert.NoError(t, registry.CreateService(makeService(id, 1)))
				assert.NoError(t, registry.CreateTask("m", labelled(makeTask(id, 80+i), map[string]string{"name": id})))
				assert.NoError(t, controller.SyncServiceEndpoints())
				assert.NoError(t, registry.DeleteTask(id))
				assert.NoError(t, registry.DeleteService(id))
			}
		})
	}
	group.Wait()
	assert.Empty(t, registry.known(t), "no endpoints without a service")
}
