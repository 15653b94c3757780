// Package typed has the types by which structured-merge-diff compares and merges the objects of the API: of Go types by the
// markers in their source, of others by their schemas. They are those that today's server makes of its OpenAPI.
package typed

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"

	"kube2014/pkg/api/v1/markers"
)

var types sync.Map // *smd.ParseableType by reflect.Type

// Of returns the type of the objects of a Go struct. It is made when it is first needed, and kept. It is safe for concurrent use.
func Of(t reflect.Type) smd.ParseableType {
	known, ok := types.Load(t)
	if !ok {
		b := &builder{schema: schema.Schema{Types: common()}, known: map[string]bool{}}
		ref := b.ref(t)
		known, _ = types.LoadOrStore(t, &smd.ParseableType{TypeRef: ref, Schema: &b.schema})
	}
	return *known.(*smd.ParseableType)
}

// builder makes the types that one type refers to.
type builder struct {
	schema schema.Schema // begins with the common types
	known  map[string]bool
}

// The names of the types that are made of the values: of deduced ones, maps are merged.
var untyped, deduced = "__untyped_atomic_", "__untyped_deduced_"

func common() []schema.TypeDef {
	atom := func(members *string, relationship schema.ElementRelationship) schema.Atom {
		return schema.Atom{Scalar: scalar(schema.Untyped),
			List: &schema.List{ElementType: schema.TypeRef{NamedType: &untyped}, ElementRelationship: schema.Atomic},
			Map:  &schema.Map{ElementType: schema.TypeRef{NamedType: members}, ElementRelationship: relationship}}
	}
	return []schema.TypeDef{{Name: untyped, Atom: atom(&untyped, schema.Atomic)}, {Name: deduced, Atom: atom(&deduced, schema.Separable)}}
}

func scalar(of schema.Scalar) *schema.Scalar { return &of }

// ref returns a reference to a type. Structs become types of their own.
func (b *builder) ref(t reflect.Type) schema.TypeRef {
	switch t.Kind() {
	case reflect.Pointer:
		return b.ref(t.Elem())
	case reflect.Struct:
		name := nameOf(t)
		if !b.known[name] {
			b.known[name] = true // before its fields: types refer to themselves
			atom := b.structure(t)
			b.schema.Types = append(b.schema.Types, schema.TypeDef{Name: name, Atom: atom})
		}
		return schema.TypeRef{NamedType: &name}
	case reflect.Map:
		return inlined(schema.Atom{Map: &schema.Map{ElementType: b.ref(t.Elem())}})
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return inlined(schema.Atom{List: &schema.List{ElementType: b.ref(t.Elem()), ElementRelationship: schema.Atomic}})
		}
	case reflect.Bool:
		return inlined(schema.Atom{Scalar: scalar(schema.Boolean)})
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return inlined(schema.Atom{Scalar: scalar(schema.Numeric)})
	}
	return inlined(schema.Atom{Scalar: scalar(schema.String)})
}

// nameOf returns the name of a type, which has no "/".
func nameOf(t reflect.Type) string { return strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name() }

func inlined(atom schema.Atom) schema.TypeRef { return schema.TypeRef{Inlined: atom} }

// structure returns the type of a struct. Some are a single value in JSON, or any object.
func (b *builder) structure(t reflect.Type) schema.Atom {
	value := reflect.Zero(t).Interface()
	if s, ok := value.(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}); ok {
		_, isChoice := value.(interface{ OpenAPIV3OneOfTypes() []string })
		switch is := s.OpenAPISchemaType(); {
		case isChoice, len(is) == 0:
			return schema.Atom{Scalar: scalar(schema.Untyped), Map: &schema.Map{ElementType: schema.TypeRef{NamedType: &deduced}},
				List: &schema.List{ElementType: schema.TypeRef{NamedType: &deduced}, ElementRelationship: schema.Atomic}}
		case s.OpenAPISchemaFormat() == "":
			return schema.Atom{Scalar: scalar(schema.String)}
		}
		return schema.Atom{Scalar: scalar(schema.Untyped)}
	}
	m := &schema.Map{ElementRelationship: relationship(markers.Struct(t)["."].MapType)}
	b.addFields(t, m)
	if len(m.Fields) == 0 { // any object is in it
		return b.schema.Types[0].Atom
	}
	return schema.Atom{Map: m}
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

// addFields adds the fields of a struct in JSON, with those of embedded structs.
func (b *builder) addFields(t reflect.Type, to *schema.Map) {
	marked := markers.Struct(t)
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			b.addFields(f.Type, to)
		default:
			to.Fields = append(to.Fields, b.field(f, name, strings.Contains(options, "omitempty"), marked[name]))
		}
	}
}

func (b *builder) field(f reflect.StructField, name string, omitted bool, m markers.Markers) schema.StructField {
	field := schema.StructField{Name: name, Type: b.ref(f.Type)}
	switch own := field.Type.Inlined; {
	case own.List != nil:
		own.List.ElementRelationship, own.List.Keys = listOf(f.Tag, m)
	case own.Map != nil:
		own.Map.ElementRelationship = relationship(m.MapType)
	case m.MapType != "":
		by := relationship(m.MapType)
		field.Type.ElementRelationship = &by
	}
	if m.Default != "" {
		_ = json.Unmarshal([]byte(m.Default), &field.Default) // it is JSON in the source
	} else if !omitted {
		field.Default = zero(f.Type)
	}
	return field
}

// listOf returns how a list is merged, and the fields by which its elements are known.
func listOf(tag reflect.StructTag, m markers.Markers) (schema.ElementRelationship, []string) {
	switch merged := strings.HasPrefix(tag.Get("patchStrategy"), "merge"); {
	case m.ListType == "map":
		return schema.Associative, m.ListMapKeys
	case m.ListType == "set":
		return schema.Associative, nil
	case m.ListType == "" && merged && tag.Get("patchMergeKey") != "":
		return schema.Associative, []string{tag.Get("patchMergeKey")}
	case m.ListType == "" && merged:
		return schema.Associative, nil
	}
	return schema.Atomic, nil
}

// zero returns the value that a client means who leaves out a field of a simple type.
func zero(t reflect.Type) any {
	switch t.Kind() {
	case reflect.String:
		return ""
	case reflect.Bool:
		return false
	case reflect.Int, reflect.Int32, reflect.Int64:
		return int64(0)
	}
	return nil
}
