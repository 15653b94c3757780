package trace

import (
	"io"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/conversion"
	"kube2014/pkg/registry"
)

// The optional interfaces of a task registry.
type (
	index    struct{ registry.HostPortIndex }
	selector struct{ registry.EndpointSelector }
	encoder  struct{ registry.TaskEncoder }
)

func TestATaskRegistryKeepsAllItsAbilitiesOrNone(t *testing.T) {
	t.Parallel()
	type plain = registry.TaskRegistry
	for name, row := range map[string]struct {
		next registry.TaskRegistry
		all  bool
	}{
		"none": {struct{ plain }{}, false},
		"no index": {struct {
			plain
			selector
			encoder
		}{}, false},
		"no selector": {struct {
			plain
			index
			encoder
		}{}, false},
		"no encoder": {struct {
			plain
			index
			selector
		}{}, false},
		"all three": {struct {
			plain
			index
			selector
			encoder
		}{}, true},
		"on memory": {registry.MakeMemoryRegistry(), false},
		"on etcd":   {registry.MakeEtcdRegistry(nil, nil), true},
	} {
		decorated := New(io.Discard).TaskRegistry(row.next)
		assert.Equal(t, row.all, is[registry.HostPortIndex](decorated), name)
		assert.Equal(t, row.all, is[registry.EndpointSelector](decorated), name)
		assert.Equal(t, row.all, is[registry.TaskEncoder](decorated), name)
	}
}

func is[Ability any](value interface{}) bool {
	_, ok := value.(Ability)
	return ok
}

type (
	onlySchedules struct{}
	reschedules   struct{}
	ranks         struct{}
)

func (onlySchedules) Schedule(api.Task) (string, error)                  { return "m", nil }
func (reschedules) Reschedule(api.Task, map[string]bool) (string, error) { return "m", nil }
func (ranks) Rank() []string                                             { return []string{"m"} }

func TestTheOthersKeepTheirAbilitiesToo(t *testing.T) {
	t.Parallel()
	tracer := New(io.Discard)
	memory := registry.MakeMemoryRegistry()
	assert.True(t, is[registry.EndpointsLister](tracer.ServiceRegistry(registry.MakeEtcdRegistry(nil, nil))))
	assert.True(t, is[registry.Versioned](tracer.TaskRegistry(memory)))
	assert.True(t, is[registry.Versioned](tracer.ServiceRegistry(memory)))
	assert.True(t, is[registry.Versioned](tracer.ControllerRegistry(memory)))
	assert.False(t, is[registry.Versioned](tracer.ServiceRegistry(broken{})))
	assert.False(t, is[registry.EndpointsLister](tracer.ServiceRegistry(broken{})))
	for _, next := range []registry.Scheduler{
		onlySchedules{}, registry.MakeFirstFitScheduler(nil, nil), registry.MakeRandomScheduler(nil, rand.Rand{}), registry.MakeRoundRobinScheduler(nil),
		struct {
			onlySchedules
			reschedules
			ranks
		}{},
	} {
		decorated := tracer.Scheduler(next)
		assert.Equal(t, is[registry.Rescheduler](next), is[registry.Rescheduler](decorated), "%T", next)
		assert.Equal(t, is[registry.Ranker](next), is[registry.Ranker](decorated), "%T", next)
	}
	assert.True(t, is[apiserver.EncodedStorage](tracer.RESTStorage(registry.MakeTaskRegistryStorage(registry.MakeEtcdRegistry(nil, nil), nil, nil))))
	assert.False(t, is[apiserver.EncodedStorage](tracer.RESTStorage(registry.MakeServiceRegistryStorage(memory))))
}

// A method is named by the type that declares it, where its code is found.
func TestAMethodIsNamedByItsDeclaration(t *testing.T) {
	t.Parallel()
	encoded := registry.MakeTaskRegistryStorage(registry.MakeEtcdRegistry(nil, nil), nil, nil)
	assert.Equal(t, "TaskRegistryStorage.Create(a, b)", called(encoded, "Create", "a", "b"))
	assert.Equal(t, "encodedTaskStorage.GetEncoded()", called(encoded, "GetEncoded"))
	assert.Equal(t, "broken.ListServices()", called(broken{}, "ListServices"))
	assert.Equal(t, "broken.ListServices()", called(&broken{}, "ListServices"))
	assert.Equal(t, "ServiceRegistry.GetService()", called(broken{}, "GetService"))
}

func TestAnObjectOfAnyTypeIsTold(t *testing.T) {
	t.Parallel()
	var five []api.Task
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		five = append(five, api.Task{JSONBase: api.JSONBase{ID: id}})
	}
	for _, told := range []struct {
		object interface{}
		want   string
	}{
		{nil, "nothing"},
		{(*api.Task)(nil), "nothing"},
		{&api.Task{}, "task without an id"},
		{&api.Service{JSONBase: api.JSONBase{ID: "s"}}, `service "s"`},
		{&api.ReplicationController{JSONBase: api.JSONBase{ID: "c"}}, `replication controller "c"`},
		{api.ServiceList{}, "no services"},
		{api.ReplicationControllerList{}, "no replication controllers"},
		{five[:1], `1 task: "a"`},
		{api.TaskList{Items: five}, `5 tasks: "a", "b", "c", "d", …`},
		{api.Endpoints{Name: "s"}, `"s" at no address`},
		{conversion.EncodedBytes([]byte("1")), "1 byte of JSON"},
		{object{api.JSONBase{ID: "x"}}, `trace.object "x"`},
		{"x", "a string"},
	} {
		assert.Equal(t, told.want, words(told.object))
	}
}

type object struct{ api.JSONBase }

func (o object) WithID(string) interface{} { return o }
