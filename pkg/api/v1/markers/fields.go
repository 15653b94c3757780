package markers

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"
)

// Field is a field of a struct as JSON has it.
type Field struct {
	reflect.StructField
	Markers        // Doc, Required and Default are set for all fields, whether by a marker or by the type
	JSON    string // its name in JSON
}

// Fields returns the fields of a struct as JSON has them, with those of embedded structs.
func Fields(t reflect.Type) []Field {
	docs, marked := DocsOf(t), Struct(t)
	var all []Field
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			all = append(all, Fields(f.Type)...)
		default:
			m, omitted := marked[name], strings.Contains(options, "omitempty")
			m.Doc, m.Required = cmp.Or(m.Doc, docs[name]), m.Required || !omitted && !m.Optional
			if m.Default == "" && (!omitted || f.Type.Kind() == reflect.Struct) {
				m.Default = Zero(f.Type)
			}
			all = append(all, Field{f, m, name})
		}
	}
	return all
}

// DocsOf returns the descriptions of the fields of a struct, and of itself by "".
func DocsOf(t reflect.Type) map[string]string {
	if d, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return d.SwaggerDoc()
	}
	return nil
}

// Zero returns the value, in JSON, that a client means who leaves out a field, "" if it means none.
func Zero(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return ""
	}
	switch t.Kind() {
	case reflect.Struct:
		if t.NumField() == 1 && t.Field(0).Anonymous {
			return Zero(t.Field(0).Type)
		}
		return "{}"
	case reflect.String:
		return `""`
	case reflect.Bool:
		return "false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return "0"
	}
	return ""
}

// Scalar is what a struct that is a single value in JSON says of it.
type Scalar struct {
	Type    string   // "" for any value
	Choices []string // its types, if it has more than one, as version 3 of OpenAPI has them
	Format  string
}

// ScalarOf returns what a struct is as a single value in JSON. It reports whether it is one.
func ScalarOf(t reflect.Type) (s Scalar, is bool) {
	value := reflect.Zero(t).Interface()
	v, is := value.(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	})
	if !is {
		return s, false
	}
	s.Format = v.OpenAPISchemaFormat()
	if types := v.OpenAPISchemaType(); len(types) > 0 {
		s.Type = types[0]
	}
	if c, ok := value.(interface{ OpenAPIV3OneOfTypes() []string }); ok {
		s.Choices = c.OpenAPIV3OneOfTypes()
	}
	return s, true
}
