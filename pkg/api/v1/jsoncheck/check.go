// Package jsoncheck tells whether JSON can say what a value of a type says in protobuf.
package jsoncheck

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Check reports whether JSON can say what a value says in protobuf. A client may send what it cannot.
type Check func(value reflect.Value) bool

var marshaler = reflect.TypeFor[json.Marshaler]()

// Of returns the check of a type, nil if JSON can say all its values. It is not ok if that is unknown, or if protobuf cannot say
// what JSON does.
func Of(t reflect.Type) (_ Check, ok bool) { return checks{}.of(t) }

// checks are the struct types that contain the one which is looked at.
type checks map[reflect.Type]bool

func (c checks) of(t reflect.Type) (_ Check, ok bool) {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.Duration](), reflect.TypeFor[resource.Quantity]():
		return nil, true
	case reflect.TypeFor[intstr.IntOrString]():
		return func(v reflect.Value) bool {
			kind := v.Interface().(intstr.IntOrString).Type
			return kind == intstr.Int || kind == intstr.String
		}, true
	case reflect.TypeFor[metav1.FieldsV1]():
		return func(v reflect.Value) bool { return isJSON(v.Addr().Interface().(*metav1.FieldsV1).GetRawBytes()) }, true
	case reflect.TypeFor[runtime.RawExtension]():
		return func(v reflect.Value) bool {
			raw := v.Interface().(runtime.RawExtension)
			return raw.Object == nil && isJSON(raw.Raw)
		}, true
	}
	switch t.Kind() {
	case reflect.Pointer:
		return c.each(t, func(v reflect.Value, inner Check) bool { return v.IsNil() || inner(v.Elem()) })
	case reflect.Slice, reflect.Map:
		return c.each(t, func(v reflect.Value, inner Check) bool {
			for _, entry := range v.Seq2() {
				if !inner(entry) {
					return false
				}
			}
			return true
		})
	case reflect.Struct:
		return c.ofStruct(t)
	case reflect.Interface, reflect.Float32, reflect.Float64, reflect.Func, reflect.Chan:
		return nil, false
	}
	return nil, !t.Implements(marshaler)
}

func isJSON(text []byte) bool { return len(text) == 0 || json.Valid(text) }

// each returns the check of a type that contains values of one other type.
func (c checks) each(t reflect.Type, all func(v reflect.Value, inner Check) bool) (_ Check, ok bool) {
	inner, ok := c.of(t.Elem())
	if inner == nil {
		return nil, ok
	}
	return func(v reflect.Value) bool { return all(v, inner) }, ok
}

func (c checks) ofStruct(t reflect.Type) (_ Check, ok bool) {
	if c[t] || reflect.PointerTo(t).Implements(marshaler) {
		return nil, false
	}
	c[t] = true
	defer delete(c, t)
	fields := map[int]Check{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == reflect.TypeFor[metav1.TypeMeta]() && len(c) == 1 {
			continue // the kind of the object itself, which is not a part of the rest
		}
		inner, ok := c.of(f.Type)
		if !ok || f.Tag.Get("protobuf") == "" {
			return nil, false
		}
		if inner != nil {
			fields[i] = inner
		}
	}
	if len(fields) == 0 {
		return nil, true
	}
	return func(v reflect.Value) bool {
		for i, inner := range fields {
			if !inner(v.Field(i)) {
				return false
			}
		}
		return true
	}, true
}
