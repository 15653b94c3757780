// Package typed says how the objects of a kind are compared and merged, field by field: which lists are sets or maps by
// keys, and which parts are a single value. Server-side apply needs it.
package typed

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kube2014/pkg/api/v1/markers"
)

// The names of types that the library knows: of a value that is replaced as a whole, and of one whose maps are merged.
var atomicName, deducedName = "__untyped_atomic_", "__untyped_deduced_"

// anything returns the types that schemas refer to by name.
func anything() []schema.TypeDef {
	atomic, deduced := schema.TypeRef{NamedType: &atomicName}, schema.TypeRef{NamedType: &deducedName}
	list := &schema.List{ElementType: atomic, ElementRelationship: schema.Atomic}
	return []schema.TypeDef{
		{Name: atomicName, Atom: schema.Atom{Scalar: &untyped, List: list, Map: &schema.Map{ElementType: atomic, ElementRelationship: schema.Atomic}}},
		{Name: deducedName, Atom: schema.Atom{Scalar: &untyped, List: list, Map: &schema.Map{ElementType: deduced, ElementRelationship: schema.Separable}}},
	}
}

var numeric, text, boolean, untyped = schema.Numeric, schema.String, schema.Boolean, schema.Untyped

// made has what was made so far. Types refer to the maps of others and to themselves by pointers: a name would have to be
// found again in the schema of each kind.
var made = struct {
	sync.Mutex
	kinds map[reflect.Type]typed.ParseableType
	maps  map[reflect.Type]*schema.Map
}{kinds: map[reflect.Type]typed.ParseableType{}, maps: map[reflect.Type]*schema.Map{}}

// Of returns the type by which the objects of a Go struct are compared and merged. It is made when it is first needed, and
// kept. Of is safe for concurrent use.
func Of(t reflect.Type) typed.ParseableType {
	made.Lock()
	defer made.Unlock()
	kind, ok := made.kinds[t]
	if !ok {
		name := t.String()
		// The library compares types by name: without one it would follow the pointers without end.
		kind = typed.ParseableType{
			TypeRef: schema.TypeRef{NamedType: &name},
			Schema:  &schema.Schema{Types: append(anything(), schema.TypeDef{Name: name, Atom: atomOf(t)})},
		}
		made.kinds[t] = kind
	}
	return kind
}

// atomOf returns what a type is, made locked.
func atomOf(t reflect.Type) schema.Atom {
	switch t.Kind() {
	case reflect.Pointer:
		return atomOf(t.Elem())
	case reflect.Struct:
		return structOf(t)
	case reflect.Map:
		return schema.Atom{Map: &schema.Map{ElementType: schema.TypeRef{Inlined: atomOf(t.Elem())}}}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return schema.Atom{Scalar: &text}
		}
		return schema.Atom{List: &schema.List{ElementType: schema.TypeRef{Inlined: atomOf(t.Elem())}, ElementRelationship: schema.Atomic}}
	case reflect.Bool:
		return schema.Atom{Scalar: &boolean}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return schema.Atom{Scalar: &numeric}
	default:
		return schema.Atom{Scalar: &text}
	}
}

func structOf(t reflect.Type) schema.Atom {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return schema.Atom{Scalar: &untyped}
	case reflect.TypeFor[runtime.RawExtension]():
		return anything()[0].Atom
	}
	if s, ok := markers.ScalarOf(t); ok {
		return scalarOf(s)
	}
	m, ok := made.maps[t]
	if !ok {
		m = &schema.Map{ElementRelationship: relationship(markers.Struct(t)["."].MapType)}
		made.maps[t] = m // before its fields: types refer to themselves
		for _, f := range markers.Fields(t) {
			m.Fields = append(m.Fields, fieldOf(f))
		}
		if m.Fields == nil {
			m.ElementType.NamedType = &deducedName
		}
	}
	return schema.Atom{Map: m}
}

// scalarOf returns what a struct is that is a single value in JSON.
func scalarOf(s markers.Scalar) schema.Atom {
	fields := &schema.Map{ElementType: schema.TypeRef{NamedType: &deducedName}}
	switch {
	case s.Type == "" || s.Choices != nil:
		return schema.Atom{Scalar: &untyped, List: anything()[0].List, Map: fields}
	case s.Type == "object":
		return schema.Atom{Map: fields}
	case s.Format == "":
		return schema.Atom{Scalar: &text}
	default: // such as a time
		return schema.Atom{Scalar: &untyped}
	}
}

func fieldOf(f markers.Field) schema.StructField {
	field := schema.StructField{Name: f.JSON, Type: schema.TypeRef{Inlined: atomOf(f.Type)}}
	if f.Default != "" {
		if err := json.Unmarshal([]byte(f.Default), &field.Default); err != nil {
			panic(err) // a test reads all defaults
		}
	}
	if list := field.Type.Inlined.List; list != nil && f.Type.Kind() == reflect.Slice {
		switch { // the list is of this field alone
		case f.ListType == "map":
			list.ElementRelationship, list.Keys = schema.Associative, f.ListMapKeys
		case f.ListType == "set":
			list.ElementRelationship = schema.Associative
		case f.ListType == "" && strings.HasPrefix(f.Tag.Get("patchStrategy"), "merge"):
			list.ElementRelationship = schema.Associative
			if key := f.Tag.Get("patchMergeKey"); key != "" {
				list.Keys = []string{key}
			}
		}
	}
	if of := relationship(f.MapType); of != "" {
		field.Type.ElementRelationship = &of // a map of other fields stays as it is
	}
	return field
}

func relationship(mapType string) schema.ElementRelationship {
	switch mapType {
	case "atomic":
		return schema.Atomic
	case "granular":
		return schema.Separable
	}
	return ""
}
