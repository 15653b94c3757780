package util

import (
	"reflect"
	"strings"
)

// JSONField returns the field of a struct that has a name in JSON, and reports whether there is one.
func JSONField(of reflect.Type, name string) (reflect.StructField, bool) {
	return of.FieldByNameFunc(func(field string) bool {
		f, _ := of.FieldByName(field)
		own, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return own == name
	})
}
