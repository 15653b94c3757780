package openapi

import (
	"reflect"
	"strings"
)

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
