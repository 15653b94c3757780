package main

import (
	"fmt"
	"math/rand"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

// soakRequests is how many requests each client sends in the short form.
const soakRequests = 40

// soakEnd tells a client that has sent so many requests whether that is enough: after
// KUBE2014_SOAK, or in the short form after their number.
func soakEnd(t *testing.T) func(sent int) bool {
	given := os.Getenv("KUBE2014_SOAK")
	if given == "" {
		return func(sent int) bool { return sent == soakRequests }
	}
	duration, err := time.ParseDuration(given)
	require.NoError(t, err)
	end := time.Now().Add(duration)
	return func(int) bool { return time.Now().After(end) }
}

// soaker is a client that keeps track of its own objects.
type soaker struct {
	t      *testing.T
	client *client.Client
	name   string
	port   int
	random *rand.Rand

	tasks       map[string]api.Task
	controllers map[string]api.ReplicationController
	services    map[string]api.Service
	requests    *atomic.Int64
}

// soak sends requests until the end. No two soakers have an id or a host port in
// common, so each knows what every answer must be.
func (s *soaker) soak(ended func(sent int) bool) {
	for n := 0; !ended(n); n++ {
		slot := s.random.Intn(4)
		id := fmt.Sprintf("%s-%d", s.name, slot)
		switch s.random.Intn(3) {
		case 0:
			s.task(id, s.port+slot, n)
		case 1:
			controller, there := s.controllers[id]
			soakObject(s, objectMethods[api.ReplicationController]{
				s.client.CreateReplicationController, s.client.UpdateReplicationController, s.client.GetReplicationController, s.client.DeleteReplicationController,
			}, s.controllers, id, controller, there, api.ReplicationController{JSONBase: api.JSONBase{ID: id}, DesiredState: api.ReplicationControllerState{Replicas: n}})
		case 2:
			if s.port%80 != 0 {
				continue // every task has all services in its environment, so keep them few
			}
			service, there := s.services[id]
			soakObject(s, objectMethods[api.Service]{s.client.CreateService, s.client.UpdateService, s.client.GetService, s.client.DeleteService},
				s.services, id, service, there, api.Service{JSONBase: api.JSONBase{ID: id}, Port: n % 65536, Labels: map[string]string{"soaker": s.name}})
		}
	}
}

func (s *soaker) task(id string, port, n int) {
	task := limited(makeTask(id, port))
	task.Labels = map[string]string{"soaker": s.name, "n": fmt.Sprint(n)}
	if s.random.Intn(4) == 0 {
		s.list()
		return
	}
	current, there := s.tasks[id]
	if there {
		current.CurrentState.Host = "" // set by the server; the answer to a write does not have it
	}
	methods := objectMethods[api.Task]{s.client.CreateTask, s.client.UpdateTask, func(id string) (api.Task, error) {
		got, err := s.client.GetTask(id)
		if err == nil {
			assert.NotEmpty(s.t, got.CurrentState.Host)
			got.CurrentState.Host = ""
		}
		return got, err
	}, s.client.DeleteTask}
	soakObject(s, methods, s.tasks, id, current, there, task)
}

// list compares a list by label with the objects that the soaker expects.
func (s *soaker) list() {
	s.requests.Add(1)
	list, err := s.client.ListTasks(map[string]string{"soaker": s.name})
	if !assert.NoError(s.t, err) {
		return
	}
	assert.Len(s.t, list.Items, len(s.tasks))
	for _, task := range list.Items {
		task.CurrentState.Host = ""
		assert.Equal(s.t, s.tasks[task.ID], task)
	}
}

type objectMethods[Object any] struct {
	create, update func(Object) (Object, error)
	get            func(string) (Object, error)
	remove         func(string) error
}

// soakObject sends at most one request for an object and checks the answer.
func soakObject[Object any](s *soaker, methods objectMethods[Object], known map[string]Object, id string, current Object, there bool, wanted Object) {
	verb := s.random.Intn(4)
	if verb == 1 && !there {
		return // what an update of a missing object does differs by resource
	}
	s.requests.Add(1)
	switch verb {
	case 0:
		accepted, err := methods.create(wanted)
		if there {
			assert.Equal(s.t, api.AlreadyExists, api.KindOf(err), "create %s: %v", id, err)
		} else if assert.NoError(s.t, err) {
			assert.Equal(s.t, wanted, accepted)
			known[id] = accepted
		}
	case 1:
		accepted, err := methods.update(wanted)
		if assert.NoError(s.t, err) {
			assert.Equal(s.t, wanted, accepted)
			known[id] = accepted
		}
	case 2:
		got, err := methods.get(id)
		if there {
			assert.NoError(s.t, err)
			assert.Equal(s.t, current, got)
		} else {
			assert.Equal(s.t, api.NotFound, api.KindOf(err), "get %s: %v", id, err)
		}
	case 3:
		err := methods.remove(id)
		if there {
			assert.NoError(s.t, err)
		} else {
			assert.Equal(s.t, api.NotFound, api.KindOf(err), "delete %s: %v", id, err)
		}
		delete(known, id)
	}
}

// watermark returns what the process keeps after garbage collection.
func watermark() (goroutines int, heap uint64) {
	runtime.GC()
	runtime.GC() // what finalizers release
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return runtime.NumGoroutine(), stats.HeapAlloc
}

// atWatermark runs a load as a subtest, whose servers and stores end with it, and requires that
// goroutines and memory are released then. Histories that a store still has are no leak: each may
// have ten thousand changes.
func atWatermark(t *testing.T, load func(t *testing.T)) {
	goroutines, heap := watermark()
	t.Run("load", load)
	eventually(t, func() bool {
		goroutinesNow, heapNow := watermark()
		return goroutinesNow <= goroutines+5 && heapNow < heap+16<<20
	}, "goroutines and heap are back where they were")
}

// 64 clients create, read, update, list and delete. At the end the server has
// the objects that they expect, and has released goroutines and memory. It
// measures the process, so it is not parallel. make soak runs it for longer.
func TestSoak(t *testing.T) {
	for name, makeStores := range twoApiservers {
		t.Run("backend="+name, func(t *testing.T) {
			atWatermark(t, func(t *testing.T) { soak(t, makeStores(t)[0]) })
		})
	}
}

// Definitions come and go with their objects, which are watched. A program gives back all that they needed: resources, schemas,
// documents, watches. What its store keeps of replaced objects, for watches, may have 64 MB.
func TestSoakOfDefinitions(t *testing.T) {
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			e, ended := startExtended(t, flags(t)...), soakEnd(t)
			measure := func() (goroutines, heap float64) {
				http.DefaultTransport.(*http.Transport).CloseIdleConnections()
				for line := range strings.Lines(e.send(http.StatusOK, "GET", "/metrics", "")) {
					_, _ = fmt.Sscanf(line, "go_goroutines %g", &goroutines)
					_, _ = fmt.Sscanf(line, "go_memstats_heap_alloc_bytes %g", &heap)
				}
				return goroutines, heap
			}
			newOwnHistory(t, e.url, false).run(0, 3) // what is made once is there then
			goroutines, heap := measure()
			require.NotZero(t, goroutines*heap)
			n := 1
			for ; !ended(soakRequests * n / 4); n++ {
				newOwnHistory(t, e.url, false).run(uint64(n), 3)
			}
			eventually(t, func() bool {
				goroutinesNow, heapNow := measure()
				return goroutinesNow <= goroutines+5 && heapNow < heap+(64+16)<<20
			}, "goroutines and heap are back where they were")
			t.Log(n, "histories")
		})
	}
}

// The same through TLS, with users, rights, plugins and an audit. How long a request waits for its
// turn in a quota is up to the machine, so only make soak runs it.
func TestSoakWithEverythingOn(t *testing.T) {
	if os.Getenv("KUBE2014_SOAK") == "" {
		t.Skip("make soak runs it; TestSoak is its part that the speed of the machine has no say in")
	}
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			atWatermark(t, func(t *testing.T) {
				e := everythingOn(t)
				s := openSecure(t, append(e.flags, append(flags(t), "-machines", "127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4")...)...)
				drive(t, e.client(t, s.url), s.Stores)
				e.checkAudit(t)
				objects, err := s.Stores.Objects.List(storage.Selection{Kind: "quotas"})
				require.NoError(t, err)
				for _, object := range objects.Items {
					assert.NotContains(t, object.Object.Meta().Remainder, "until", "no place stays reserved")
				}
			})
		})
	}
}

func soak(t *testing.T, stores registries) {
	machines := []string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"}
	handler := newHandler(stores, clienttest.FakeContainerInfo{}, registry.MakeFirstFitScheduler(machines, stores.Tasks), client.DefaultPrefix)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	signals, exit := make(chan os.Signal, 1), make(chan int, 1)
	go func() { exit <- exitOf(serverWith(handler, listener, hangs), signals) }() // the machine may be slow
	transport := &http.Transport{MaxIdleConnsPerHost: soakers}
	drive(t, &client.Client{Host: "http://" + listener.Addr().String(), HTTP: &http.Client{Transport: transport}}, stores)
	transport.CloseIdleConnections()
	signals <- os.Interrupt
	assert.Equal(t, 0, <-exit)
}

// soakers is how many clients there are.
const soakers = 64

// drive lets the clients send requests, and checks what there is at the end.
func drive(t *testing.T, shared *client.Client, stores registries) {
	ended := soakEnd(t)
	done := make(chan struct{})
	var requests atomic.Int64
	var group sync.WaitGroup
	var all []*soaker
	for i := range soakers {
		s := &soaker{t: t, client: shared, name: fmt.Sprintf("soaker%d", i), port: 10000 + 10*i, random: rand.New(rand.NewSource(int64(i))), requests: &requests,
			tasks: map[string]api.Task{}, controllers: map[string]api.ReplicationController{}, services: map[string]api.Service{}}
		all = append(all, s)
		group.Go(func() { s.soak(ended) })
	}
	go func() {
		group.Wait()
		close(done)
	}()
	for soaking := true; soaking; {
		assert.NoError(t, registry.MakeEndpointController(stores.Services, stores.Tasks).SyncServiceEndpoints())
		if stores.Reconcile != nil {
			assert.NoError(t, stores.Reconcile())
		}
		select {
		case <-done:
			soaking = false
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Logf("%d requests", requests.Load())

	var tasks, controllers, services int
	for _, s := range all {
		s.list()
		tasks, controllers, services = tasks+len(s.tasks), controllers+len(s.controllers), services+len(s.services)
		for id := range s.tasks {
			assert.NoError(t, shared.DeleteTask(id))
		}
	}
	gotControllers, err := shared.ListReplicationControllers(nil)
	require.NoError(t, err)
	gotServices, err := shared.ListServices(nil)
	require.NoError(t, err)
	assert.Len(t, gotControllers.Items, controllers)
	assert.Len(t, gotServices.Items, services)
	for _, s := range all {
		for _, controller := range gotControllers.Items {
			if known, mine := s.controllers[controller.ID]; mine {
				assert.Equal(t, known, controller)
				assert.NoError(t, shared.DeleteReplicationController(controller.ID))
			}
		}
		for _, service := range gotServices.Items {
			if known, mine := s.services[service.ID]; mine {
				assert.Equal(t, known, service)
				assert.NoError(t, shared.DeleteService(service.ID))
			}
		}
	}
	assert.NotZero(t, tasks+controllers+services)
	list, err := shared.ListTasks(nil)
	require.NoError(t, err)
	assert.Empty(t, list.Items, "no task is nobody's")
}
