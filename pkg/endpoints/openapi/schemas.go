package openapi

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api/v1/markers"
)

// Where references lead to: in a document of version 3, and in one of version 2.
const (
	components  = "#/components/schemas/"
	definitions = "#/definitions/"
)

// object is a Schema Object of OpenAPI 3.0, as far as Go types need it.
type object struct {
	Ref                  string            `json:"$ref,omitempty"`
	AllOf                []object          `json:"allOf,omitempty"`
	OneOf                []object          `json:"oneOf,omitempty"`
	Description          string            `json:"description,omitempty"`
	Type                 string            `json:"type,omitempty"`
	Format               string            `json:"format,omitempty"`
	Enum                 []string          `json:"enum,omitempty"`
	Default              json.RawMessage   `json:"default,omitempty"`
	Items                *object           `json:"items,omitempty"`
	AdditionalProperties *object           `json:"additionalProperties,omitempty"`
	Properties           map[string]object `json:"properties,omitempty"`
	Required             []string          `json:"required,omitempty"`
	UniqueItems          bool              `json:"uniqueItems,omitempty"`
	Kinds                []groupKind       `json:"x-kubernetes-group-version-kind,omitempty"`
	PatchStrategy        string            `json:"x-kubernetes-patch-strategy,omitempty"`
	PatchMergeKey        string            `json:"x-kubernetes-patch-merge-key,omitempty"`
	ListType             string            `json:"x-kubernetes-list-type,omitempty"`
	ListMapKeys          []string          `json:"x-kubernetes-list-map-keys,omitempty"`
	MapType              string            `json:"x-kubernetes-map-type,omitempty"`
	Unions               []union           `json:"x-kubernetes-unions,omitempty"`
}

// union says that at most one of some fields is set.
type union struct {
	Discriminator string            `json:"discriminator,omitempty"`  // the field that names it
	Fields        map[string]string `json:"fields-to-discriminateBy"` // their names in Go by those in JSON
}

type groupKind = metav1.GroupVersionKind

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

// schemas are the components of one document: an *object of a Go type, or the schema of an own kind.
type schemas struct {
	kindTypes
	byName map[string]any
	own    map[groupKind]own
	isV2   bool // version 2 has no defaults and no choice of types, and allows text beside a reference
}

// kind returns the schema of a kind: any object, if nothing is known of it.
func (s *schemas) kind(kind groupKind) object {
	if t, ok := s.types[kind]; ok {
		return s.of(t)
	}
	if own, ok := s.own[kind]; ok {
		return s.reference(s.ownComponent(own))
	}
	return object{Type: "object"}
}

func (s *schemas) reference(name string) object {
	if s.isV2 {
		return object{Ref: definitions + name}
	}
	return object{Ref: components + name}
}

// of returns the schema of a type. Structs become components.
func (s *schemas) of(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.reference(s.component(t))
	case reflect.Map:
		return object{Type: "object", AdditionalProperties: s.element(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{Type: "string", Format: "byte"}
		}
		return object{Type: "array", Items: s.element(t.Elem())}
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
	name := t.String()
	if n, ok := reflect.Zero(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		name = n.OpenAPIModelName()
	}
	if s.byName[name] != nil {
		return name
	}
	marked := markers.Struct(t)["."]
	own := &object{Kinds: s.kinds[t], Description: cmp.Or(marked.Doc, markers.DocsOf(t)[""]), MapType: marked.MapType}
	s.byName[name] = own // before its fields: types refer to themselves
	if v, ok := markers.ScalarOf(t); ok {
		own.Format, own.Type = v.Format, v.Type
		if len(v.Choices) > 0 && !s.isV2 {
			own.Type = ""
			for _, one := range v.Choices {
				own.OneOf = append(own.OneOf, object{Type: one})
			}
		}
		return name
	}
	own.Type, own.Properties = "object", map[string]object{}
	all := markers.Fields(t)
	for _, f := range all {
		own.Properties[f.JSON] = s.property(f)
		if f.Required {
			own.Required = append(own.Required, f.JSON)
		}
	}
	if marked.Union {
		own.Unions = []union{unionOf(all)}
	}
	return name
}

// element returns the schema of the elements of a list or of a map.
func (s *schemas) element(t reflect.Type) *object {
	o := s.of(t)
	o.Enum, o.Default = texts(markers.Enum(t)), raw(markers.Zero(t))
	s.finish(&o)
	return &o
}

// property returns the schema of a field.
func (s *schemas) property(f markers.Field) object {
	o, enum := s.of(f.Type), markers.Enum(f.Type)
	if f.Type.Kind() == reflect.Pointer {
		enum = markers.Enum(f.Type.Elem())
	}
	o.Description, o.Enum = f.Doc+explained(enum), texts(enum)
	o.PatchStrategy, o.PatchMergeKey = f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")
	o.ListType, o.ListMapKeys, o.MapType = f.ListType, f.ListMapKeys, f.MapType
	o.Default = raw(f.Default)
	s.finish(&o)
	return o
}

// finish moves a reference into a list if anything stands beside it, which version 3 ignores. For version 2 it removes
// the default.
func (s *schemas) finish(o *object) {
	if s.isV2 {
		o.Default = nil
		return
	}
	if beside := *o; o.Ref != "" {
		if beside.Ref = ""; !reflect.ValueOf(beside).IsZero() {
			o.AllOf, o.Ref = []object{{Ref: o.Ref}}, ""
		}
	}
}

// raw returns JSON, nil for none.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// explained returns the end of the description of an enum.
func explained(values []markers.Value) string {
	if len(values) == 0 {
		return ""
	}
	text := "\n\nPossible enum values:"
	for _, v := range values {
		text += strings.TrimRight("\n - `"+strconv.Quote(v.Text)+"` "+v.Meaning, " ")
	}
	return text
}

func texts(values []markers.Value) (all []string) {
	for _, v := range values {
		all = append(all, v.Text)
	}
	return all
}

func unionOf(all []markers.Field) union {
	u := union{Fields: map[string]string{}}
	for _, f := range all {
		if f.Discriminator {
			u.Discriminator = f.JSON
		} else {
			u.Fields[f.JSON] = f.Name
		}
	}
	return u
}
