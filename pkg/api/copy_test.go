package api

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// fill sets every field that value reaches, metadata and annotations too, so that a
// field added to a type is copied or the test fails.
func fill(value reflect.Value) {
	switch value.Type() {
	case reflect.TypeFor[time.Time]():
		value.Set(reflect.ValueOf(time.Unix(1, 0)))
		return
	case reflect.TypeFor[ManagedFields](): // they are read-only, and copies share them
		value.Set(reflect.ValueOf(ManagedFields{{Of: &Manager{Name: "m"}}}))
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			fill(value.Field(i))
		}
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0))
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("key"), reflect.ValueOf("value"))
	case reflect.Interface:
		value.Set(reflect.ValueOf(map[string]interface{}{"list": []interface{}{"item"}}))
	case reflect.String:
		value.SetString("text")
	case reflect.Int:
		value.SetInt(1)
	case reflect.Uint64:
		value.SetUint(1)
	case reflect.Bool:
		value.SetBool(true)
	default:
		panic("what is a " + value.Type().String() + " filled with?")
	}
}

// scramble changes everything that a copy of value would share.
func scramble(value reflect.Value) {
	if value.Type() == reflect.TypeFor[ManagedFields]() {
		return
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			scramble(value.Field(i))
		}
	case reflect.Slice:
		for i := range value.Len() {
			scramble(value.Index(i))
			value.Index(i).SetZero()
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			scramble(value.MapIndex(key))
		}
		value.Clear()
	case reflect.Interface:
		scramble(value.Elem())
	}
}

func checkCopy[Object interface{ DeepCopy() Object }](t *testing.T) {
	var object, same Object
	fill(reflect.ValueOf(&object).Elem())
	fill(reflect.ValueOf(&same).Elem())
	copied := object.DeepCopy()
	assert.Equal(t, same, copied)
	scramble(reflect.ValueOf(&object).Elem())
	assert.NotEqual(t, same, object)
	assert.Equal(t, same, copied, "the copy shares memory with its source")

	var zero Object
	assert.Equal(t, zero, zero.DeepCopy(), "null stays null")
}

func TestADeepCopyIsEqualAndSharesNothing(t *testing.T) {
	t.Parallel()
	t.Run("task", checkCopy[Task])
	t.Run("controller", checkCopy[ReplicationController])
	t.Run("service", checkCopy[Service])
	t.Run("endpoints", checkCopy[Endpoints])
	t.Run("manifest", checkCopy[ContainerManifest])
}

func TestWithIDLeavesTheObjectAlone(t *testing.T) {
	t.Parallel()
	task, controller, service, endpoints := Task{}, ReplicationController{}, Service{}, Endpoints{}
	assert.Equal(t, "x", task.WithID("x").(Task).GetID())
	assert.Equal(t, "x", controller.WithID("x").(ReplicationController).GetID())
	assert.Equal(t, "x", service.WithID("x").(Service).GetID())
	assert.Equal(t, "x", endpoints.WithID("x").(Endpoints).Name)
	assert.Empty(t, task.ID+controller.ID+service.ID+endpoints.Name)
}
