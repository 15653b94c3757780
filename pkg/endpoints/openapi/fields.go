package openapi

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"kube2014/pkg/api/v1/markers"
)

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
