package openapi

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"kube2014/pkg/api/v1/markers"
)

// field is a field of a struct as JSON has it.
type field struct {
	reflect.StructField
	markers.Markers
	name, doc         string
	required, omitted bool // omitted if it is empty
}

// fields returns the fields of a struct in JSON, with those of embedded structs.
func fields(t reflect.Type) []field {
	docs, marked := docsOf(t), markers.Struct(t)
	var all []field
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			all = append(all, fields(f.Type)...)
		default:
			m, omitted := marked[name], strings.Contains(options, "omitempty")
			all = append(all, field{f, m, name, cmp.Or(m.Doc, docs[name]), m.Required || !omitted && !m.Optional, omitted})
		}
	}
	return all
}

// docsOf returns the descriptions of the fields of a struct, and of itself by "".
func docsOf(t reflect.Type) map[string]string {
	if d, ok := reflect.Zero(t).Interface().(documented); ok {
		return d.SwaggerDoc()
	}
	return nil
}

// element returns the schema of the elements of a list or of a map.
func (s *schemas) element(t reflect.Type) *object {
	o := s.of(t)
	o.Enum, o.Default = texts(markers.Enum(t)), zero(t)
	s.finish(&o)
	return &o
}

// property returns the schema of a field.
func (s *schemas) property(f field) object {
	o, enum := s.of(f.Type), markers.Enum(f.Type)
	if f.Type.Kind() == reflect.Pointer {
		enum = markers.Enum(f.Type.Elem())
	}
	o.Description, o.Enum = f.doc+explained(enum), texts(enum)
	o.PatchStrategy, o.PatchMergeKey = f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")
	o.ListType, o.ListMapKeys, o.MapType = f.ListType, f.ListMapKeys, f.MapType
	if f.Default != "" {
		o.Default = json.RawMessage(f.Default)
	} else if !f.omitted || f.Type.Kind() == reflect.Struct {
		o.Default = zero(f.Type)
	}
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

// zero returns the value that a client means who leaves out a field, nil if it means none.
func zero(t reflect.Type) json.RawMessage {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		if t.NumField() == 1 && t.Field(0).Anonymous {
			return zero(t.Field(0).Type)
		}
		return json.RawMessage("{}")
	case reflect.String:
		return json.RawMessage(`""`)
	case reflect.Bool:
		return json.RawMessage("false")
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return json.RawMessage("0")
	}
	return nil
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

func unionOf(all []field) union {
	u := union{Fields: map[string]string{}}
	for _, f := range all {
		if f.Discriminator {
			u.Discriminator = f.name
		} else {
			u.Fields[f.name] = f.Name
		}
	}
	return u
}
