package trace

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
	"kube2014/pkg/registry"
)

func is[Ability any](value interface{}) bool {
	_, ok := value.(Ability)
	return ok
}

func TestAVersionedRegistryStaysSo(t *testing.T) {
	t.Parallel()
	tracer := New(io.Discard)
	memory := registry.MakeMemoryRegistry()
	assert.True(t, is[registry.Versioned](tracer.TaskRegistry(memory)))
	assert.True(t, is[registry.Versioned](tracer.TaskRegistry(registry.MakeEtcdRegistry(nil, nil))))
	assert.True(t, is[registry.Versioned](tracer.ServiceRegistry(memory)))
	assert.True(t, is[registry.Versioned](tracer.ControllerRegistry(memory)))
}

// A method is named by the type that declares it, where its code is found.
func TestAMethodIsNamedByItsDeclaration(t *testing.T) {
	t.Parallel()
	onEtcd := registry.MakeEtcdRegistry(nil, nil)
	assert.Equal(t, "Registry.GetTask(a, b)", called(onEtcd, "GetTask", "a", "b"))
	assert.Equal(t, "EtcdRegistry.Reconcile()", called(onEtcd, "Reconcile"))
	assert.Equal(t, "broken.List()", called(broken{}, "List"))
	assert.Equal(t, "broken.List()", called(&broken{}, "List"))
	assert.Equal(t, "Interface.Commit()", called(broken{}, "Commit"))
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
		{&api.Node{JSONBase: api.JSONBase{ID: "n"}}, `node "n"`},
		{(*api.Event)(nil), "nothing"},
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
