package openapi

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api/v1/markers"
	"kube2014/pkg/rest"
)

// own is the component of an own kind, or of a list of one.
type own struct {
	name string
	make func() map[string]any
}

// The keys of schemas that mean something here. Structural schemas have nested ones only below the first three.
const (
	properties           = "properties"
	items                = "items"
	additionalProperties = "additionalProperties"
	required             = "required"
	selectable           = "x-kubernetes-selectable-fields"
	keepsUnknown         = "x-kubernetes-preserve-unknown-fields"
	isObject             = "x-kubernetes-embedded-resource"
	isNumberOrText       = "x-kubernetes-int-or-string"
	kindsOf              = "x-kubernetes-group-version-kind"
)

const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"

var numberOrText = []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}

// addOwn makes the kind of a row known, and its list, if the row has a schema. Whatever the list is called, it is known by
// the name that lists usually have.
func (s *schemas) addOwn(row *rest.Resource) {
	if row.Schema == nil || strings.Contains(row.Name, "/") {
		return
	}
	kind, list := groupKind(row.Kind), groupKind(row.Kind)
	list.Kind = cmp.Or(row.Untyped.ListKind, kind.Kind+"List")
	schema := sync.OnceValue(func() map[string]any { return schemaOf(row) })
	s.own[kind] = own{nameOf(kind), func() map[string]any { return s.ownObject(kind, schema()) }}
	usual := kind
	usual.Kind += "List"
	s.own[usual] = own{nameOf(list), func() map[string]any { return s.ownList(kind, list, row.Name, schema()) }}
}

// schemaOf returns the schema of an own kind. A schema that cannot be read is that of any object, as is none.
func schemaOf(row *rest.Resource) map[string]any {
	schema, err := row.Schema()
	if err != nil {
		return nil
	}
	return schema
}

// nameOf returns the name of the component of an own kind, such as com.example.v1.Widget.
func nameOf(kind groupKind) string {
	group := strings.Split(kind.Group, ".")
	slices.Reverse(group)
	return strings.Join(append(group, kind.Version, kind.Kind), ".")
}

// ownComponent adds the schema of an own kind, and returns its name.
func (s *schemas) ownComponent(o own) string {
	if s.byName[o.name] == nil {
		s.byName[o.name] = o.make()
	}
	return o.name
}

func (s *schemas) ownObject(kind groupKind, schema map[string]any) map[string]any {
	// Clients of version 2 take fields that are not named for forbidden.
	if schema == nil || s.isV2 && schema[keepsUnknown] == true {
		anything := map[string]any{"type": "object", kindsOf: []groupKind{kind}}
		return withSelectable(anything, schema)
	}
	object := s.structural(schema)
	object[properties] = s.addMeta(object[properties], metav1.PartialObjectMetadata{})
	object[kindsOf] = []groupKind{kind}
	return object
}

func (s *schemas) ownList(kind, list groupKind, resource string, schema map[string]any) map[string]any {
	of := s.kind(kind)
	all := map[string]any{items: object{
		Type: "array", Items: &of, Description: "List of " + resource + ". More info: " + conventions,
	}}
	return withSelectable(map[string]any{
		"description": list.Kind + " is a list of " + kind.Kind, "type": "object", required: []string{items},
		properties: s.addMeta(all, metav1.PartialObjectMetadataList{}), kindsOf: []groupKind{list},
	}, schema)
}

func withSelectable(component, schema map[string]any) map[string]any {
	if fields := schema[selectable]; fields != nil {
		component[selectable] = fields
	}
	return component
}

// addMeta adds the fields that all objects have, as those of a partial object, to the properties of a new schema.
func (s *schemas) addMeta(of any, partial any) map[string]any {
	all, _ := of.(map[string]any)
	if all == nil {
		all = map[string]any{}
	}
	for _, f := range markers.Fields(reflect.TypeOf(partial)) {
		switch f.JSON {
		case "apiVersion", "kind":
			all[f.JSON] = s.property(f)
		case "metadata":
			metadata := s.of(f.Type)
			metadata.Description = f.Doc
			s.finish(&metadata)
			all[f.JSON] = metadata
		}
	}
	return all
}

// structural returns a new schema, which clients know how to read, for a schema or one nested in it. New are also the
// schemas nested in it, except those of rules (allOf, not and so on), which stay the same.
func (s *schemas) structural(of map[string]any) map[string]any {
	schema := maps.Clone(of)
	if s.isV2 {
		simplify(schema)
	} else if schema[isNumberOrText] == true {
		unfold(schema)
	}
	if of, ok := schema[properties].(map[string]any); ok {
		all := map[string]any{}
		for name, property := range of {
			if property, ok := property.(map[string]any); ok {
				all[name] = s.structural(property)
			}
		}
		schema[properties] = all
	}
	for _, name := range []string{items, additionalProperties} {
		if nested, ok := schema[name].(map[string]any); ok {
			schema[name] = s.structural(nested)
		}
	}
	if schema[isObject] == true && !(s.isV2 && schema[keepsUnknown] == true) {
		s.embed(schema)
	}
	return schema
}

// embed adds to a schema what the objects of all kinds have.
func (s *schemas) embed(schema map[string]any) {
	all := s.addMeta(schema[properties], metav1.PartialObjectMetadata{})
	all["apiVersion"] = object{Type: "string", Description: "apiVersion defines the versioned schema of this representation of an object. More info: " + conventions + "#resources"}
	all["kind"] = object{Type: "string", Description: "kind is a string value representing the type of this object. In CamelCase. More info: " + conventions + "#types-kinds"}
	names, _ := schema[required].([]any)
	names = slices.Clone(names)
	for _, name := range []any{"kind", "apiVersion"} {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	schema[properties], schema[required] = all, names
}

// unfold says in the words of JSON schema that a value is a number or a text.
func unfold(schema map[string]any) {
	either, _ := schema["anyOf"].([]any)
	all, _ := schema["allOf"].([]any)
	if len(all) > 0 {
		if first, ok := all[0].(map[string]any); ok && reflect.DeepEqual(first["anyOf"], numberOrText) {
			return
		}
	}
	switch {
	case either == nil:
		schema["anyOf"] = numberOrText
	case !reflect.DeepEqual(either, numberOrText):
		schema["allOf"] = append([]any{map[string]any{"anyOf": numberOrText}}, all...)
	}
}

// simplify removes from a schema what version 2 or its clients have no words for.
func simplify(schema map[string]any) {
	for _, key := range []string{"allOf", "anyOf", "oneOf", "not", "default"} {
		delete(schema, key)
	}
	if schema["nullable"] == true {
		for _, key := range []string{"type", "nullable", items, properties} {
			delete(schema, key)
		}
	}
	if schema[keepsUnknown] == true {
		delete(schema, items)
		delete(schema, properties)
		if schema["type"] == "object" {
			delete(schema, "type")
		}
	}
	if schema["type"] == "array" && schema[items] == nil {
		delete(schema, "type")
	}
	isNullable := func(nested any) bool {
		schema, _ := nested.(map[string]any)
		return schema["nullable"] == true
	}
	all, _ := schema[properties].(map[string]any)
	names, _ := schema[required].([]any)
	names = slices.DeleteFunc(slices.Clone(names), func(name any) bool {
		text, _ := name.(string)
		return isNullable(all[text])
	})
	if schema[required] = names; len(names) == 0 || isNullable(schema[additionalProperties]) {
		delete(schema, required)
	}
}
