package cacher

import (
	"reflect"
	"time"
)

// sizeOf estimates the memory of a value, in bytes, with all values that it points to. It skips
// the zone of a time, which is shared, and may be loaded concurrently.
func sizeOf(value reflect.Value) int {
	size := int(value.Type().Size())
	if value.Type() == reflect.TypeFor[time.Time]() {
		return size
	}
	switch value.Kind() {
	case reflect.String:
		size += value.Len()
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			size += sizeOf(value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			size += sizeOf(value.Index(i))
		}
	case reflect.Map:
		for entry := value.MapRange(); entry.Next(); {
			size += sizeOf(entry.Key()) + sizeOf(entry.Value())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			size += sizeOf(value.Field(i)) - int(value.Field(i).Type().Size())
		}
	}
	return size
}
