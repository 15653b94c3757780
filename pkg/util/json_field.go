package util

import (
	"reflect"
	"strings"
)

// JSONName returns the name of a field in JSON: "" if it is an embedded struct whose fields are inlined, "-" if it is left out.
func JSONName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// JSONField returns the field of a struct at a path of names in JSON, such as spec.selector, the struct that has it, and
// whether there is one. Its index leads from the first struct, through pointers.
func JSONField(of reflect.Type, path string) (f reflect.StructField, in reflect.Type, found bool) {
	var index []int
	for name := range strings.SplitSeq(path, ".") {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if f, found = named(of, name); !found {
			return f, nil, false
		}
		index = append(index, f.Index...)
		in, of = of, f.Type
	}
	f.Index = index
	return f, in, true
}

// named returns the field of a struct, or of the structs embedded in it, that has a name in JSON.
func named(of reflect.Type, name string) (reflect.StructField, bool) {
	for f := range of.Fields() {
		if JSONName(f) == name {
			return f, true
		}
		if f.Anonymous && JSONName(f) == "" {
			if inner, found := named(f.Type, name); found {
				inner.Index = append(f.Index, inner.Index...)
				return inner, true
			}
		}
	}
	return reflect.StructField{}, false
}
