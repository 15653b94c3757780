package openapi

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const components = "#/components/schemas/"

// object is a Schema Object of OpenAPI 3.0, as far as Go types need it.
type object struct {
	Ref                  string            `json:"$ref,omitempty"`
	AllOf                []object          `json:"allOf,omitempty"`
	OneOf                []object          `json:"oneOf,omitempty"`
	Description          string            `json:"description,omitempty"`
	Type                 string            `json:"type,omitempty"`
	Format               string            `json:"format,omitempty"`
	Items                *object           `json:"items,omitempty"`
	AdditionalProperties *object           `json:"additionalProperties,omitempty"`
	Properties           map[string]object `json:"properties,omitempty"`
	Required             []string          `json:"required,omitempty"`
	UniqueItems          bool              `json:"uniqueItems,omitempty"`
	Kinds                []groupKind       `json:"x-kubernetes-group-version-kind,omitempty"`
	PatchStrategy        string            `json:"x-kubernetes-patch-strategy,omitempty"`
	PatchMergeKey        string            `json:"x-kubernetes-patch-merge-key,omitempty"`
}

type groupKind = metav1.GroupVersionKind

// The optional interfaces of the types of k8s.io.
type (
	named      interface{ OpenAPIModelName() string }
	documented interface{ SwaggerDoc() map[string]string }
	// scalar is a struct that is a single value in JSON.
	scalar interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}
	// choice is a scalar that has more than one type in JSON.
	choice interface{ OpenAPIV3OneOfTypes() []string }
)

// kindTypes are the Go types of the kinds, both ways.
type kindTypes struct {
	types map[groupKind]reflect.Type
	kinds map[reflect.Type][]groupKind // sorted
}

func newKindTypes(values map[schema.GroupVersionKind]any) kindTypes {
	k := kindTypes{map[groupKind]reflect.Type{}, map[reflect.Type][]groupKind{}}
	for kind, value := range values {
		t := reflect.TypeOf(value)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		k.types[groupKind(kind)] = t
		k.kinds[t] = append(k.kinds[t], groupKind(kind))
	}
	for _, kinds := range k.kinds {
		slices.SortFunc(kinds, func(a, b groupKind) int {
			return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Kind, b.Kind))
		})
	}
	return k
}

// schemas are the components of one document.
type schemas struct {
	kindTypes
	byName map[string]*object
}

// kind returns the schema of a kind: any object, if its type is unknown.
func (s *schemas) kind(kind groupKind) object {
	if t, ok := s.types[kind]; ok {
		return s.of(t)
	}
	return object{Type: "object"}
}

// of returns the schema of a type. Structs become components.
func (s *schemas) of(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return object{Ref: components + s.component(t)}
	case reflect.Map:
		elem := s.of(t.Elem())
		return object{Type: "object", AdditionalProperties: &elem}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{Type: "string", Format: "byte"}
		}
		elem := s.of(t.Elem())
		return object{Type: "array", Items: &elem}
	case reflect.Bool:
		return object{Type: "boolean"}
	case reflect.Int64:
		return object{Type: "integer", Format: "int64"}
	case reflect.Int, reflect.Int32:
		return object{Type: "integer", Format: "int32"}
	case reflect.Float64:
		return object{Type: "number", Format: "double"}
	default:
		return object{Type: "string"}
	}
}

// component adds the schema of a struct, and of all types that it refers to, and returns its name.
func (s *schemas) component(t reflect.Type) string {
	value := reflect.Zero(t).Interface()
	name := t.String()
	if n, ok := value.(named); ok {
		name = n.OpenAPIModelName()
	}
	if s.byName[name] != nil {
		return name
	}
	own := &object{Kinds: s.kinds[t], Description: descriptions[name]}
	s.byName[name] = own // before its fields: types refer to themselves
	if d, ok := value.(documented); ok {
		own.Description = d.SwaggerDoc()[""]
	}
	if v, ok := value.(scalar); ok {
		own.Format = v.OpenAPISchemaFormat()
		if c, ok := value.(choice); ok {
			for _, one := range c.OpenAPIV3OneOfTypes() {
				own.OneOf = append(own.OneOf, object{Type: one})
			}
		} else {
			own.Type = v.OpenAPISchemaType()[0]
		}
		return name
	}
	own.Type, own.Properties = "object", map[string]object{}
	for _, f := range fields(t) {
		property := s.of(f.Type)
		if property.Ref != "" && f.doc != "" { // nothing may stand beside $ref
			property = object{AllOf: []object{property}}
		}
		property.Description = f.doc
		property.PatchStrategy, property.PatchMergeKey = f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")
		own.Properties[f.name] = property
		required, isException := exceptions[name+"."+f.name]
		if required || f.required && !isException {
			own.Required = append(own.Required, f.name)
		}
	}
	return name
}

// field is a field of a struct as JSON has it.
type field struct {
	reflect.StructField
	name, doc string
	required  bool
}

// fields returns the fields of a struct in JSON, with those of embedded structs.
func fields(t reflect.Type) []field {
	var docs map[string]string
	if d, ok := reflect.Zero(t).Interface().(documented); ok {
		docs = d.SwaggerDoc()
	}
	var all []field
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			all = append(all, fields(f.Type)...)
		default:
			all = append(all, field{f, name, docs[name], !strings.Contains(options, "omit")})
		}
	}
	return all
}
