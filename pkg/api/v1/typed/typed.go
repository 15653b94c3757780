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

// made has the types of all structs that were needed so far: kinds share them. References are by name, because the library
// compares types again and again: by pointers it would compare all that they refer to.
var made = struct {
	sync.Mutex
	kinds   map[reflect.Type]typed.ParseableType
	structs map[reflect.Type]*structure
}{kinds: map[reflect.Type]typed.ParseableType{}, structs: map[reflect.Type]*structure{}}

// structure is the type of a struct.
type structure struct {
	schema.TypeDef
	uses []*structure // the structs that it refers to
}

// Of returns the type by which the objects of a Go struct are compared and merged. It is made when it is first needed, and
// kept. Of is safe for concurrent use.
func Of(t reflect.Type) typed.ParseableType {
	made.Lock()
	defer made.Unlock()
	kind, ok := made.kinds[t]
	if !ok {
		own := structOf(t)
		kind = typed.ParseableType{TypeRef: schema.TypeRef{NamedType: &own.Name}, Schema: &schema.Schema{Types: own.appendTo(anything(), map[*structure]bool{})}}
		made.kinds[t] = kind
	}
	return kind
}

// appendTo appends a type, and all that it uses.
func (s *structure) appendTo(types []schema.TypeDef, known map[*structure]bool) []schema.TypeDef {
	if known[s] {
		return types
	}
	known[s] = true
	types = append(types, s.TypeDef)
	for _, used := range s.uses {
		types = used.appendTo(types, known)
	}
	return types
}

// structOf returns the type of a struct, made locked.
func structOf(t reflect.Type) *structure {
	s, ok := made.structs[t]
	if !ok {
		s = &structure{TypeDef: schema.TypeDef{Name: strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name()}}
		made.structs[t] = s // before its fields: types refer to themselves
		s.Atom = s.atomOf(t)
	}
	return s
}

// refTo returns a reference to a type that the struct uses.
func (s *structure) refTo(t reflect.Type) schema.TypeRef {
	inlined := func(atom schema.Atom) schema.TypeRef { return schema.TypeRef{Inlined: atom} }
	switch t.Kind() {
	case reflect.Pointer:
		return s.refTo(t.Elem())
	case reflect.Struct:
		used := structOf(t)
		s.uses = append(s.uses, used)
		return schema.TypeRef{NamedType: &used.Name}
	case reflect.Map:
		return inlined(schema.Atom{Map: &schema.Map{ElementType: s.refTo(t.Elem())}})
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return inlined(schema.Atom{Scalar: &text})
		}
		return inlined(schema.Atom{List: &schema.List{ElementType: s.refTo(t.Elem()), ElementRelationship: schema.Atomic}})
	case reflect.Bool:
		return inlined(schema.Atom{Scalar: &boolean})
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return inlined(schema.Atom{Scalar: &numeric})
	default:
		return inlined(schema.Atom{Scalar: &text})
	}
}

// atomOf returns what a struct is.
func (s *structure) atomOf(t reflect.Type) schema.Atom {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return schema.Atom{Scalar: &untyped}
	case reflect.TypeFor[runtime.RawExtension]():
		return anything()[0].Atom
	}
	if single, ok := markers.ScalarOf(t); ok {
		return scalarOf(single)
	}
	m := &schema.Map{ElementRelationship: relationship(markers.Struct(t)["."].MapType)}
	for _, f := range markers.Fields(t) {
		m.Fields = append(m.Fields, s.fieldOf(f))
	}
	if m.Fields == nil {
		m.ElementType.NamedType = &deducedName
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

func (s *structure) fieldOf(f markers.Field) schema.StructField {
	field := schema.StructField{Name: f.JSON, Type: s.refTo(f.Type)}
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
