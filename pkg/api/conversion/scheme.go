// Package conversion converts objects between the versions of the API. All versions
// are converted to and from one internal version, so that no version needs to know
// another one.
package conversion

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Internal is the name of the internal version: its objects have no JSON.
const Internal = ""

// Scheme is a registry of types and of conversions between them. Fill it before
// its first use; then it is safe for concurrent use.
type Scheme struct {
	versions map[reflect.Type]string       // the version of each type
	targets  map[reflect.Type][]conversion // of each type, in the order in which they were added
}

type conversion struct {
	to      reflect.Type
	convert func(interface{}) (interface{}, error)
}

// NewScheme returns an empty scheme.
func NewScheme() *Scheme {
	return &Scheme{versions: map[reflect.Type]string{}, targets: map[reflect.Type][]conversion{}}
}

// AddKnownTypes registers the types of the given structs as kinds of a version. A
// pointer stands for its struct. To register a type twice is harmless.
func (s *Scheme) AddKnownTypes(version string, objects ...interface{}) {
	for _, object := range objects {
		s.versions[structOf(object)] = version
	}
}

// AddFuncs registers the conversions of a type of a version to its internal type and
// back. The functions must not change their arguments.
func AddFuncs[Versioned, Internal any](s *Scheme, toInternal func(Versioned) (Internal, error), toVersioned func(Internal) (Versioned, error)) {
	addFunc(s, toInternal)
	addFunc(s, toVersioned)
}

func addFunc[From, To any](s *Scheme, convert func(From) (To, error)) {
	from := reflect.TypeFor[From]()
	s.targets[from] = append(s.targets[from], conversion{reflect.TypeFor[To](), func(object interface{}) (interface{}, error) {
		converted, err := convert(*object.(*From))
		if err != nil {
			return nil, err
		}
		return &converted, nil
	}})
}

// Recognizes reports whether an object's type is registered.
func (s *Scheme) Recognizes(object interface{}) bool { return s.has(structOf(object)) }

func (s *Scheme) has(structure reflect.Type) bool {
	_, ok := s.versions[structure]
	return ok
}

// Convert converts an object into the one that out points to. It overwrites all of
// it, or nothing if it fails. An object of the same type is copied; the copy shares
// maps and slices. The error says why the scheme cannot convert the object, or is that
// of the conversion's function.
func (s *Scheme) Convert(in, out interface{}) error {
	target := reflect.ValueOf(out)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return unconverted(in, structOf(out), "the target must be a pointer that is not nil")
	}
	converted, err := s.convert(in, target.Type().Elem())
	if err != nil {
		return err
	}
	target.Elem().Set(reflect.ValueOf(converted).Elem())
	return nil
}

// ConvertToVersion converts an object to a version, and returns a pointer to the result.
// An object of that version is returned as it is. It fails if the type is not
// registered, or has no counterpart in the version; other errors are those of Convert.
func (s *Scheme) ConvertToVersion(in interface{}, version string) (interface{}, error) {
	to, err := s.typeIn(version, in)
	if err != nil {
		return nil, err
	}
	return s.convert(in, to)
}

// typeIn returns the type to which an object is converted in a version: its own type, or
// the target that was added first.
func (s *Scheme) typeIn(version string, object interface{}) (reflect.Type, error) {
	from := structOf(object)
	if !s.has(from) {
		return nil, fmt.Errorf("no kind is registered for the type %v", from)
	}
	if s.versions[from] == version {
		return from, nil
	}
	for _, target := range s.targets[from] {
		if s.has(target.to) && s.versions[target.to] == version {
			return target.to, nil
		}
	}
	if s.versions[from] != Internal && slices.Contains(slices.Collect(maps.Values(s.versions)), version) {
		return nil, unconverted(object, "version "+version, "versions convert only to and from the internal one")
	}
	return nil, fmt.Errorf("no kind %q is registered for version %q", from.Name(), version)
}

func (s *Scheme) convert(in interface{}, to reflect.Type) (interface{}, error) {
	from := structOf(in)
	i := slices.IndexFunc(s.targets[from], func(target conversion) bool { return target.to == to })
	if i < 0 && from != to {
		return nil, unconverted(in, to, "unknown conversion")
	}
	if value := reflect.ValueOf(in); value.Kind() == reflect.Pointer && value.IsNil() {
		return nil, unconverted(in, to, "the object is nil")
	}
	if from == to {
		return pointerTo(in), nil
	}
	return s.targets[from][i].convert(pointerTo(in))
}

// unconverted returns the error for an object that the scheme cannot convert. It begins with the words of
// today's scheme.
func unconverted(in, to interface{}, why string) error {
	return fmt.Errorf("converting (%v) to (%v): %s", structOf(in), to, why)
}

// structOf returns the type of a struct, or of the struct that a pointer points to.
func structOf(object interface{}) reflect.Type {
	structure := reflect.TypeOf(object)
	if structure != nil && structure.Kind() == reflect.Pointer {
		return structure.Elem()
	}
	return structure
}

// pointerTo returns a pointer to an object, which may be one itself.
func pointerTo(object interface{}) interface{} {
	value := reflect.ValueOf(object)
	if value.Kind() == reflect.Pointer {
		return object
	}
	pointer := reflect.New(value.Type())
	pointer.Elem().Set(value)
	return pointer.Interface()
}

// Each converts the items of a slice. No slice stays none: its JSON is null.
func Each[In, Out any](in []In, convert func(In) Out) []Out {
	if in == nil {
		return nil
	}
	out := make([]Out, len(in))
	for i := range in {
		out[i] = convert(in[i])
	}
	return out
}
