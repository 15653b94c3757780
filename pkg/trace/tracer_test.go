package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/registry"
	"kube2014/pkg/server"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/server/request"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// traced is a server, on a fake etcd or in memory, and its trace. Each look at
// its clock takes a millisecond.
type traced struct {
	*Tracer
	told     bytes.Buffer
	handler  http.Handler
	tasks    registry.TaskRegistry
	services registry.ServiceRegistry
	sync     func() error
}

func makeTraced(etcdClient registry.EtcdClient) *traced {
	s := &traced{}
	s.Tracer = New(&s.told)
	clock := time.Unix(0, 0)
	s.now = func() time.Time { clock = clock.Add(time.Millisecond); return clock }
	inMemory := registry.MakeRegistry(s.Store(memory.New(0)))
	var controllers registry.ControllerRegistry = inMemory
	s.tasks, s.services = inMemory, inMemory
	if etcdClient != nil {
		onEtcd := registry.MakeEtcdRegistry(s.EtcdClient(etcdClient), nil)
		onEtcd.SetClock(func() time.Time { return clock }, time.After) // however slow the machine is
		onEtcd.Decorate(s.Store)
		s.tasks, s.services, controllers = onEtcd, onEtcd, onEtcd
	}
	s.sync = s.Sync("EndpointController.SyncServiceEndpoints", registry.MakeEndpointController(s.services, s.tasks).SyncServiceEndpoints)
	scheduler := s.Scheduler(registry.MakeFirstFitScheduler([]string{"m1", "m2"}, s.tasks))
	table := apiserver.New(map[string]apiserver.RESTStorage{
		"tasks":                  s.RESTStorage(registry.MakeTaskRegistryStorage(s.tasks, clienttest.FakeContainerInfo{}, scheduler)),
		"replicationControllers": s.RESTStorage(registry.MakeControllerRegistryStorage(controllers)),
		"services":               s.RESTStorage(registry.MakeServiceRegistryStorage(s.services)),
	}, "/api")
	s.handler = filters.WithRequestInfo(s.Handler(http.HandlerFunc(filters.Serve)), []request.Server{table})
	return s
}

// trace returns the trace since the last call.
func (s *traced) trace() string {
	defer s.told.Reset()
	return s.told.String()
}

func (s *traced) send(method, path, body string) (trace string) {
	s.trace()
	s.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body)))
	return s.trace()
}

const task = `{"id": "web", "labels": {"a": "b"}, "desiredState": {"manifest": {"containers": [{"ports": [{"hostPort": 80}]}]}}}`

func TestARequestIsNarratedLayerByLayer(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `
         POST /api/tasks to ApiServer.ServeHTTP
     1ms   TaskRegistryStorage.Extract(114 bytes) → task "web"
           TaskRegistryStorage.Create(task "web")
             FirstFitScheduler.Schedule(task "web")
     1ms       Store.FirstFree(m1, m2) → task "web" on m1
     3ms     → machine m1
     1ms     Store.Commit(create task "web") → ok
     7ms   → ok
    11ms → 200 OK, 550 bytes of application/json
`, "\n"+makeTraced(nil).send("POST", "/api/tasks", task))
}

func TestEveryCallToEtcdIsNarrated(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	etcdClient := s.EtcdClient(etcdtest.NewFake())
	_, _ = etcdClient.Get("/r/a", false, false)
	_, _ = etcdClient.Create("/r/a", "m1", 0)
	_, _ = etcdClient.Create("/r/a", "m2", 0)
	_, _ = etcdClient.Set("/r/d/b", `{"id":"b","labels":{"name":"web","tier":"front"},"desiredState":{"manifest":{}}}`, 0)
	_, _ = etcdClient.CompareAndSwap("/r/a", "[]", 0, "", 1)
	_, _ = etcdClient.CompareAndSwap("/r/a", "m3", 3600, "m2", 0)
	_, _ = etcdClient.Get("/r/a", false, false)
	_, _ = etcdClient.Get("/r", true, true)
	_, _ = etcdClient.CompareAndDelete("/r/a", "", 3)
	_, _ = etcdClient.Delete("/r/d/b", false)
	assert.Equal(t, `
     1ms EtcdClient.Get /r/a → 100 Key not found, index 0
     1ms EtcdClient.Create /r/a = "m1" → index 1
     1ms EtcdClient.Create /r/a = "m2" → 105 Key already exists, index 1
     1ms EtcdClient.Set /r/d/b = {"id":"b","labels":{"name":"web","tier":"front"},"desiredState":… 80 bytes → index 2
     1ms EtcdClient.CompareAndSwap /r/a if index 1 = [] → index 3
     1ms EtcdClient.CompareAndSwap /r/a if "m2" = "m3" for 3600s → 101 Compare failed, index 3
     1ms EtcdClient.Get /r/a → [], index 3
     1ms EtcdClient.Get /r → a directory of 2
     1ms EtcdClient.CompareAndDelete /r/a if index 3 → index 4
     1ms EtcdClient.Delete /r/d/b → index 5
`, "\n"+s.trace())
}

// A store's calls to etcd are inside its own lines.
func TestAStoreOnEtcdIsNarratedWithItsCallsToEtcd(t *testing.T) {
	t.Parallel()
	told := makeTraced(etcdtest.NewFake()).send("POST", "/api/tasks", task)
	assert.Regexp(t, `
             Store.Commit\(create task "web"\)
     1ms       EtcdClient.Create /registry/_tasks/web = "m1" → index 1
(?s:.*)     1ms       EtcdClient.Create /registry/hosts/m1/tasks/web = {"id":"web",.* → index 3
 *\d+ms     → ok
`, told)
}

func TestHowLongAnObjectStaysIsNarrated(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	store := storage.WithTTL(s.Store(memory.New(1)), time.Hour)
	_, err := store.Commit(storage.Create(&api.Any{Kind: "events", ID: "x", ObjectMeta: api.ObjectMeta{Namespace: "default"}}), storage.Delete(api.DefaultKey("events", "y"), storage.Any))
	require.NoError(t, err)
	assert.Equal(t, `     1ms Store.Commit(create events "x" for 1h0m0s, remove events "y") → ok`+"\n", s.trace())
}

func TestAListIsNarratedWithWhatIsSelected(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	for _, selection := range []storage.Selection{{}, {Labels: map[string]string{"a": "b"}}, {Machine: "m1"}} {
		selection.Kind = api.TaskKind
		_, err := s.Store(memory.New(0)).List(selection)
		require.NoError(t, err)
	}
	assert.Equal(t, `
     1ms Store.List(task, all) → no tasks
     1ms Store.List(task, a=b) → no tasks
     1ms Store.List(task, all on m1) → no tasks
`, "\n"+s.trace())
}

func TestARefusalIsNarratedWithItsKind(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	assert.Equal(t, `
         DELETE /api/services/x to ApiServer.ServeHTTP
           ServiceRegistryStorage.Delete("x")
     1ms     Store.Commit(remove service "x", remove endpoints "x") → error (not found): service "x" does not exist
     3ms   → error (not found): service "x" does not exist
     5ms → 404 Not Found: service "x" does not exist
`, "\n"+s.send("DELETE", "/api/services/x", ""))
	assert.Equal(t, "     1ms GET /nope to ApiServer.ServeHTTP → 404 Not Found: GET /nope\n", s.send("GET", "/nope", ""))
	assert.Equal(t, "     1ms GET / to ApiServer.ServeHTTP → 200 OK, 47 bytes of text/html\n", s.send("GET", "/", ""))
}

func TestTheOrderOfASchedulerIsNarratedAndWhichMachineFits(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	inTurn := registry.MakeRoundRobinScheduler([]string{"m1", "m2", "m3"})
	inTurn.(*registry.RoundRobinScheduler).Registry = s.tasks
	storage := registry.MakeTaskRegistryStorage(s.tasks, nil, s.Scheduler(inTurn))
	web := api.Task{JSONBase: api.JSONBase{ID: "web"}}
	web.DesiredState.Manifest.Containers = []api.Container{{Ports: []api.Port{{HostPort: 80}}}}
	for _, machine := range []string{"m1", "m2"} {
		web.ID = "on-" + machine
		require.NoError(t, s.tasks.CreateTask(machine, web))
	}
	s.trace()
	web.ID = "web"
	require.NoError(t, storage.Create(web))
	assert.Equal(t, `
         RoundRobinScheduler.Schedule(task "web")
     1ms   Store.FirstFree(m1, m2, m3) → task "web" on m3
     3ms → machine m3
     1ms Store.Commit(create task "web") → ok
`, "\n"+s.trace())
}

func TestASyncIsNarratedOnlyWhenItWritesSomething(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	require.NoError(t, s.sync())
	assert.Empty(t, s.trace())
	s.send("POST", "/api/tasks", task)
	s.send("POST", "/api/services", `{"id": "s", "labels": {"a": "b"}}`)
	require.NoError(t, s.sync())
	assert.Contains(t, s.trace(), `
     1ms   Cache.List(task, a=b) → 1 task: "web"
     1ms   Cache.Get(endpoints "s") → error (not found): endpoints "s" does not exist
     1ms   Store.Commit(check service "s", create or replace endpoints "s") → ok
`)
	require.NoError(t, s.sync())
	assert.Empty(t, s.trace())
}

func TestATracedStorageDeletesOnlyWhatWasAdmitted(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	storage := s.RESTStorage(registry.MakeServiceRegistryStorage(s.services)).(apiserver.AdmittedDeleter)
	require.NoError(t, s.services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 80}))
	admitted, err := s.services.(registry.Versioned).Objects().Get(api.DefaultKey(api.ServiceKind, "web"))
	require.NoError(t, err)
	require.NoError(t, s.services.UpdateService(api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 81}))
	s.trace()
	assert.ErrorIs(t, storage.DeleteAdmitted(admitted.Object), api.ErrOutdated)
	_, err = s.services.GetService("web")
	assert.NoError(t, err)
}

// anything is a server that takes all.
type anything struct{ http.Handler }

func (anything) Serves(*http.Request, *request.Record) bool     { return true }
func (anything) Fail(http.ResponseWriter, *http.Request, error) {}

// A store whose methods panic.
type broken struct{ storage.Interface }

func (broken) List(storage.Selection) (*storage.List, error) { panic("broken") }

func TestAPanicEndsTheCallsThatAreOpenAndLetsOthersThrough(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	storage := s.RESTStorage(registry.MakeServiceRegistryStorage(registry.MakeRegistry(s.Store(broken{memory.New(0)}))))
	handler := s.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { _, _ = storage.List(&url.URL{}) }))
	handler = filters.WithRequestInfo(handler, []request.Server{anything{}})
	sync := s.Sync("a.sync", func() error { return s.services.UpdateEndpoints(api.Endpoints{Name: "x"}) })
	for range 2 {
		assert.Panics(t, func() { handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) })
		assert.Equal(t, `
         GET / to anything.ServeHTTP
           ServiceRegistryStorage.List()
     1ms     broken.List(service, all) → panic
     3ms   → panic
     5ms → panic
`, "\n"+s.trace())
		assert.Panics(t, func() { _ = s.Sync("a.sync", func() error { panic("broken") })() })
		assert.Empty(t, s.trace(), "nothing was written")
		assert.Error(t, sync())
		assert.Contains(t, s.trace(), " Store.Commit(")
	}
}

func TestALineIsOneLineAndBoundedWhateverGoesThrough(t *testing.T) {
	t.Parallel()
	evil := "a\nb\x1b[31m\u202e\xff" + strings.Repeat("é", 10000)
	for name, etcdClient := range map[string]registry.EtcdClient{"memory": nil, "etcd": etcdtest.NewFake()} {
		s := makeTraced(etcdClient)
		s.send("POST", "/api/tasks", evil)
		_ = s.tasks.CreateTask(evil, api.Task{JSONBase: api.JSONBase{ID: evil}})
		_, _ = s.tasks.ListTasks(&map[string]string{evil: evil})
		_ = s.services.UpdateEndpoints(api.Endpoints{Name: evil, Endpoints: []string{evil}})
		_ = s.traceError(evil, func() error { return errors.New(evil) })
		_, _ = traceValue(s.Tracer, evil, func() (string, error) { return evil, nil })
		_, _ = s.EtcdClient(etcdtest.NewFake()).Set("/"+evil, evil, 0)
		_, _ = s.EtcdClient(etcdtest.NewFake()).Set("/x", "{"+evil, 0)
		for line := range strings.SplitSeq(strings.TrimSuffix(s.trace(), "\n"), "\n") {
			assert.Regexp(t, `^ +(\d+ms)? `, line, name)
			assert.Less(t, len(line), 600, name)
			assert.NotContains(t, line, "\x1b", name)
			assert.NotContains(t, line, "\u202e", name)
		}
	}
}

// Calls of several goroutines, which overlap, are all in the trace.
func TestCallsThatOverlapAreAllTold(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	first := s.begin("first")
	second := s.begin("second")
	s.end(first, "done")
	s.end(second, "done")
	assert.Equal(t, "         first\n     2ms first → done\n     2ms second → done\n", s.trace())
}

func TestATracerIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	tracer := New(io.Discard)
	etcdClient := tracer.EtcdClient(etcdtest.NewFake())
	handler := filters.WithRequestInfo(tracer.Handler(http.NotFoundHandler()), []request.Server{anything{}})
	sync := func(n int) func() error {
		return tracer.Sync("a.sync", func() error { _, err := etcdClient.Set(fmt.Sprint("/", n), "v", 0); return err })
	}
	inGoroutines(8, func(n int) {
		_, _ = etcdClient.Get("/0", false, false)
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		assert.NoError(t, sync(n)())
	})
	assert.Empty(t, tracer.open)
}

func inGoroutines(n int, f func(int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { f(i) })
	}
	group.Wait()
}

func TestRequestsAreServedOneAtATime(t *testing.T) {
	t.Parallel()
	atWork := make(chan struct{}, 1)
	handler := New(io.Discard).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case atWork <- struct{}{}:
		default:
			t.Error("two at once")
		}
		fmt.Fprint(w, "done")
		<-atWork
	}))
	handler = filters.WithRequestInfo(handler, []request.Server{anything{}})
	inGoroutines(16, func(int) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
		assert.Equal(t, "done", answer.Body.String())
	})
}

// A watch may take hours.
func TestAStreamHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	next := s.handler
	streams, ends, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.handler = s.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 2 {
			assert.NoError(t, http.NewResponseController(w).Flush())
		}
		close(streams)
		<-ends
		fmt.Fprint(w, "the end")
	}))
	s.handler = filters.WithRequestInfo(s.handler, []request.Server{anything{}})
	go func() {
		defer close(ended)
		answer := httptest.NewRecorder()
		s.handler.ServeHTTP(answer, httptest.NewRequest("GET", "/stream", nil))
		assert.Equal(t, "the end", answer.Body.String())
		assert.True(t, answer.Flushed)
	}()
	<-streams
	assert.Equal(t, "     1ms GET /stream to anything.ServeHTTP → 200 OK, a stream of application/json\n", s.trace())
	s.handler = next
	assert.Contains(t, s.send("GET", "/api/tasks", ""), "→ 200 OK, ")
	close(ends)
	<-ended
	assert.Empty(t, s.trace())
}

func TestTimesHaveThreeDigitsOrSo(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]string{
		1499 * time.Nanosecond: "1µs", 1234567: "1.23ms", 98765432: "98.77ms", 123456789: "123ms", 12345678901: "12.35s",
	} {
		assert.Equal(t, want, inWords(took))
	}
}

func TestTheDecoratorsOfNoTracerAreWhatTheyDecorate(t *testing.T) {
	t.Parallel()
	var none *Tracer
	store, etcdClient, table := memory.New(0), etcdtest.NewFake(), apiserver.New(nil, "/")
	memory := registry.MakeMemoryRegistry()
	resource, scheduler := registry.MakeServiceRegistryStorage(memory), registry.MakeFirstFitScheduler(nil, memory)
	assert.Same(t, store, none.Store(store))
	assert.Same(t, etcdClient, none.EtcdClient(etcdClient))
	assert.Same(t, table, none.Handler(table))
	assert.Same(t, resource, none.RESTStorage(resource))
	assert.Same(t, scheduler, none.Scheduler(scheduler))
	assert.Same(t, http.DefaultTransport, none.RoundTripper(http.DefaultTransport))
	assert.Equal(t, answering{}, none.Etcd3Client(answering{}))
	assert.Zero(t, none.Auth(server.Auth{}))
	assert.Nil(t, none.Admission(nil))
	assert.Nil(t, none.Work("Scheduler"))
	assert.Nil(t, none.Sync("a.sync", nil))
}
