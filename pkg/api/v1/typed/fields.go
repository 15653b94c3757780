package typed

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Fields returns the fields in which an object, a pointer to a Go struct, differs from an empty one, as FieldsV1 has them: "{}" for
// none. They are those that Compare finds, in a fifth of its time, since there is nothing to compare with. Fields whose paths are in
// skip, such as "metadata.name", are left out. It is not ok if only Compare can find them.
func Fields(object any, skip map[string]bool) (text []byte, ok bool) {
	v := reflect.ValueOf(object).Elem()
	of := Of(v.Type())
	w := fieldsWriter{types: of.Schema, skip: skip, text: []byte{'{'}}
	w.changed(v, of.TypeRef, "")
	return append(w.text, '}'), !w.failed
}

// fieldsWriter writes fields of an object as FieldsV1 has them.
type fieldsWriter struct {
	types  *schema.Schema
	skip   map[string]bool // paths of fields without an owner
	text   []byte
	failed bool
}

// member begins a member, the name of which is of a field or an element.
func (w *fieldsWriter) member(name string) {
	if last := w.text[len(w.text)-1]; last != '{' {
		w.text = append(w.text, ',')
	}
	if strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) {
		var quoted bytes.Buffer
		encoder := json.NewEncoder(&quoted)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(name) // a text can be encoded
		w.text = append(w.text, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
	} else {
		w.text = append(append(append(w.text, '"'), name...), '"')
	}
	w.text = append(w.text, ':')
}

// changed writes the fields of a struct that differ from those of an empty one, and reports whether there are some.
func (w *fieldsWriter) changed(v reflect.Value, ref schema.TypeRef, path string) (some bool) {
	of, _ := w.types.Resolve(ref)
	for _, f := range value.TypeReflectEntryOf(v.Type()).OrderedFields() {
		field, at := f.GetFrom(v), path+f.JsonName
		if f.CanOmit(field) || w.skip[at] {
			continue
		}
		own, _ := of.Map.FindField(f.JsonName)
		before := len(w.text)
		w.member("f:" + f.JsonName)
		switch empty := reflect.New(field.Type()); {
		case f.CanOmit(empty.Elem()):
			w.added(field, own.Type, true)
		case field.Kind() == reflect.Struct && w.isGranular(own.Type):
			w.text = append(w.text, '{')
			if !w.changed(field, own.Type, at+".") {
				w.text = w.text[:before]
				continue
			}
			w.text = append(w.text, '}')
		case same(field.Addr(), empty):
			w.text = w.text[:before]
			continue
		default:
			w.added(field, own.Type, false) // it was null
		}
		some = true
	}
	return some
}

// same reports whether two pointers are to values that are the same in JSON, where a struct may have no fields for several reasons.
func same(a, b reflect.Value) bool {
	if equal := reflect.DeepEqual(a.Interface(), b.Interface()); equal || a.Elem().Kind() != reflect.Struct {
		return equal
	}
	x, wrongX := value.NewValueReflect(a.Interface())
	y, wrongY := value.NewValueReflect(b.Interface())
	return wrongX == nil && wrongY == nil && value.Equals(x, y)
}

func (w *fieldsWriter) isGranular(ref schema.TypeRef) bool {
	of, _ := w.types.Resolve(ref)
	return of.Scalar == nil && of.Map != nil && of.Map.ElementRelationship != schema.Atomic
}

// added writes all fields of a value and, if it has some and whole is set, that it is itself one.
func (w *fieldsWriter) added(v reflect.Value, ref schema.TypeRef, whole bool) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	of, _ := w.types.Resolve(ref)
	w.text = append(w.text, '{')
	start := len(w.text)
	if whole {
		w.text = append(w.text, `".":{}`...)
	}
	before := len(w.text)
	switch {
	case of.Scalar != nil && of.Map != nil && of.Map.ElementRelationship != schema.Atomic:
		w.failed = w.failed || v.Type() != reflect.TypeFor[intstr.IntOrString]() // which is no map; others may be one
	case of.Scalar != nil, of.Map != nil && of.Map.ElementRelationship == schema.Atomic, of.List != nil && of.List.ElementRelationship == schema.Atomic:
	case v.Kind() == reflect.Struct:
		for _, f := range value.TypeReflectEntryOf(v.Type()).OrderedFields() {
			if field := f.GetFrom(v); !f.CanOmit(field) {
				own, _ := of.Map.FindField(f.JsonName)
				w.member("f:" + f.JsonName)
				w.added(field, own.Type, true)
			}
		}
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			w.member("f:" + key.String())
			w.added(v.MapIndex(key), of.Map.ElementType, true)
		}
	case v.Kind() == reflect.Slice:
		w.elements(v, of.List)
	}
	if len(w.text) == before {
		w.text = w.text[:start]
	}
	w.text = append(w.text, '}')
}

// elements writes the elements of a list that is a set, or a map by keys. Those that are there twice are one, without fields.
func (w *fieldsWriter) elements(v reflect.Value, of *schema.List) {
	type element struct {
		fieldpath.PathElement
		of reflect.Value
	}
	all := make([]element, v.Len())
	for i := range all {
		all[i] = element{w.element(v.Index(i), of), v.Index(i)}
	}
	slices.SortFunc(all, func(a, b element) int { return a.Compare(b.PathElement) })
	for i := 0; i < len(all); {
		next := i + 1
		for next < len(all) && all[next].Equals(all[i].PathElement) {
			next++
		}
		name, err := fieldpath.SerializePathElement(all[i].PathElement)
		w.failed = w.failed || err != nil
		w.member(name)
		if next > i+1 {
			w.text = append(w.text, "{}"...)
		} else {
			w.added(all[i].of, of.ElementType, true)
		}
		i = next
	}
}

// element returns the name of an element of a list.
func (w *fieldsWriter) element(v reflect.Value, list *schema.List) fieldpath.PathElement {
	v = reflect.Indirect(v)
	if len(list.Keys) == 0 {
		if v.Kind() != reflect.String {
			w.failed = true
		}
		return fieldpath.ValueElement(value.NewValueInterface(v.String()))
	}
	if v.Kind() != reflect.Struct {
		w.failed = true
		return fieldpath.PathElement{}
	}
	var keys value.FieldList
	of, _ := w.types.Resolve(list.ElementType)
	for _, name := range list.Keys {
		f := value.TypeReflectEntryOf(v.Type()).Fields()[name]
		own, _ := of.Map.FindField(name)
		if key := f.GetFrom(v); !f.CanOmit(key) {
			keys = append(keys, value.Field{Name: name, Value: value.NewValueInterface(plain(reflect.Indirect(key)))})
		} else if own.Default != nil {
			keys = append(keys, value.Field{Name: name, Value: value.NewValueInterface(own.Default)})
		}
	}
	w.failed = w.failed || len(keys) == 0
	keys.Sort()
	return fieldpath.PathElement{Key: &keys}
}

// plain returns a value as JSON has it.
func plain(v reflect.Value) any {
	switch {
	case !v.IsValid():
		return nil
	case v.CanInt():
		return v.Int()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	}
	return v.String()
}
