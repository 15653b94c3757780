package v1beta1

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/api/conversion"
)

// seeds is how many objects of each kind go test makes without fuzzing.
const seeds = 32

// filler gives every field of an object a value by chance, so that a field that is
// added to a type and forgotten in a conversion fails the test.
type filler struct {
	random  *rand.Rand
	reached map[string]map[string]bool // by field: which of nil, empty, full, zero and set it was; may be nil
}

func newFiller(seed uint64) filler { return filler{random: rand.New(rand.NewPCG(seed, 0))} }

// onlyInternal lists the fields that v1beta1 cannot say.
var onlyInternal = map[string]bool{
	"api.Task.ObjectMeta": true, "api.Task.IsPod": true, "api.Task.Held": true, "api.ReplicationController.ObjectMeta": true,
	"api.Service.ObjectMeta": true, "api.Service.SelectsNothing": true, "api.Endpoints.ObjectMeta": true, "api.Endpoints.Targets": true,
	"api.Endpoints.Managed": true,
}

// object returns a pointer to a new object. What v1beta1 cannot say is empty.
func (f filler) object(version, kind string) interface{} {
	object := newObject(version, kind)
	f.fill("", reflect.ValueOf(object).Elem())
	return object
}

func (f filler) fill(field string, value reflect.Value) {
	length := f.random.IntN(4) - 1
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if name := value.Type().String() + "." + value.Type().Field(i).Name; !onlyInternal[name] {
				f.fill(name, value.Field(i))
			}
		}
		return
	case reflect.Slice:
		if length >= 0 {
			value.Set(reflect.MakeSlice(value.Type(), length, length))
		}
		for i := range value.Len() {
			f.fill(field+"[]", value.Index(i))
		}
	case reflect.Map:
		if length >= 0 {
			value.Set(reflect.MakeMap(value.Type()))
		}
		for range length {
			key, item := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
			f.fill(field+"{key}", key)
			f.fill(field+"{}", item)
			value.SetMapIndex(key, item)
		}
	case reflect.Interface:
		if json := f.json(); json != nil {
			value.Set(reflect.ValueOf(json))
		}
	case reflect.String:
		value.SetString(f.text())
	case reflect.Int:
		value.SetInt(int64(f.random.Uint64()) * f.random.Int64N(2))
	case reflect.Bool:
		value.SetBool(length > 0)
	default:
		panic("what is a " + value.Type().String() + " filled with?")
	}
	if f.reached != nil {
		f.record(field, value)
	}
}

func (f filler) record(field string, value reflect.Value) {
	state := "set"
	switch kind := value.Kind(); {
	case kind != reflect.Slice && kind != reflect.Map:
		if value.IsZero() {
			state = "zero"
		}
	case value.IsNil():
		state = "nil"
	case value.Len() == 0:
		state = "empty"
	default:
		state = "full"
	}
	if f.reached[field] == nil {
		f.reached[field] = map[string]bool{}
	}
	f.reached[field][state] = true
}

func (f filler) text() string {
	if f.random.IntN(4) == 0 {
		return ""
	}
	return strconv.Itoa(f.random.IntN(1000)) + " <ü>\n\"\u2028"
}

// json returns a value as it is decoded from JSON.
func (f filler) json() interface{} {
	return []interface{}{nil, f.text(), 0.5, true, []interface{}{f.text(), nil}, map[string]interface{}{f.text(): []interface{}{}}}[f.random.IntN(6)]
}

// Conversion loses nothing, tells nil from empty, and leaves its input as it was;
// JSON that was decoded is encoded to the same.
func FuzzRoundTrip(f *testing.F) {
	scheme, kinds := newScheme(), kinds()
	for i := range kinds {
		for seed := range uint64(seeds) {
			f.Add(uint(i), seed)
		}
	}
	f.Fuzz(func(t *testing.T, i uint, seed uint64) {
		kind := kinds[i%uint(len(kinds))]
		for own, other := range map[string]string{Version: conversion.Internal, conversion.Internal: Version} {
			object, same := newFiller(seed).object(own, kind), newFiller(seed).object(own, kind)
			there, err := scheme.ConvertToVersion(object, other)
			require.NoError(t, err)
			back, err := scheme.ConvertToVersion(there, own)
			require.NoError(t, err)
			require.Equal(t, same, back)
			require.Equal(t, same, object, "conversion changed its input")
		}
		object := newFiller(seed).object(conversion.Internal, kind)
		text, err := Codec.Marshal(object)
		require.NoError(t, err)
		decoded := newObject(conversion.Internal, kind)
		require.NoError(t, Codec.Unmarshal(text, decoded))
		again, err := Codec.Marshal(decoded)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	})
}
