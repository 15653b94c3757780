// Package conversion knows the versions of the API: which Go type is which kind
// of object in which version, and how one is converted into the other. All
// versions are converted to and from one internal version, so that no version
// needs to know another one.
package conversion

import (
	"fmt"
	"reflect"
	"slices"
)

// Internal is the name of the internal version: its objects have no JSON.
const Internal = ""

// VersionKind names a type of object: its version of the API, and its kind there,
// like "Task".
type VersionKind struct{ Version, Kind string }

// Scheme is a registry of types and of conversions between them. Fill it before
// its first use; then it is safe for concurrent use.
type Scheme struct {
	versions []string // in the order in which they were added: the first is preferred
	types    map[VersionKind]reflect.Type
	kinds    map[reflect.Type][]VersionKind
	targets  map[reflect.Type][]reflect.Type // what a type converts to, in the order in which it was added
	converts map[fromTo]func(interface{}) (interface{}, error)
}

type fromTo struct{ from, to reflect.Type }

// NewScheme returns an empty scheme.
func NewScheme() *Scheme {
	return &Scheme{
		types:    map[VersionKind]reflect.Type{},
		kinds:    map[reflect.Type][]VersionKind{},
		targets:  map[reflect.Type][]reflect.Type{},
		converts: map[fromTo]func(interface{}) (interface{}, error){},
	}
}

// AddKnownTypes registers the types of the given structs as kinds of a version.
// The name of the type is its kind. A pointer stands for its struct. To register a
// type twice is harmless.
func (s *Scheme) AddKnownTypes(version string, objects ...interface{}) {
	for _, object := range objects {
		s.AddKnownTypeWithName(version, structOf(object).Name(), object)
	}
}

// AddKnownTypeWithName registers the type of a struct as a kind of a version. It
// panics if the kind has another type already, or if the object is no struct.
func (s *Scheme) AddKnownTypeWithName(version, kind string, object interface{}) {
	name, structure := VersionKind{version, kind}, structOf(object)
	switch known := s.types[name]; {
	case structure == nil || structure.Kind() != reflect.Struct:
		panic(fmt.Sprintf("conversion: kind %q of version %q is registered as %v, which is not a struct", kind, version, structure))
	case known == structure:
		return
	case known != nil:
		panic(fmt.Sprintf("conversion: kind %q of version %q is registered as %v and as %v", kind, version, known, structure))
	}
	s.types[name] = structure
	s.kinds[structure] = append(s.kinds[structure], name)
	if version != Internal && !slices.Contains(s.versions, version) {
		s.versions = append(s.versions, version)
	}
}

// AddFuncs registers how an object of a version becomes an internal one, and the
// reverse. The functions do not change what they are given.
func AddFuncs[Version, In any](s *Scheme, in func(Version) (In, error), out func(In) (Version, error)) {
	addFunc(s, in)
	addFunc(s, out)
}

func addFunc[From, To any](s *Scheme, convert func(From) (To, error)) {
	pair := fromTo{reflect.TypeFor[From](), reflect.TypeFor[To]()}
	if s.converts[pair] == nil {
		s.targets[pair.from] = append(s.targets[pair.from], pair.to)
	}
	s.converts[pair] = func(object interface{}) (interface{}, error) {
		converted, err := convert(*object.(*From))
		if err != nil {
			return nil, err
		}
		return &converted, nil
	}
}

// Versions returns the versions, the preferred one first.
func (s *Scheme) Versions() []string { return slices.Clone(s.versions) }

// New returns a pointer to an empty object of a kind. The error is a
// NotRegisteredError.
func (s *Scheme) New(version, kind string) (interface{}, error) {
	structure, ok := s.types[VersionKind{version, kind}]
	if !ok {
		return nil, &NotRegisteredError{Version: version, Kind: kind}
	}
	return reflect.New(structure).Interface(), nil
}

// ObjectKinds returns the versions and kinds of an object: a struct of a known type
// or a pointer to one, even a nil one. The error is a NotRegisteredError.
func (s *Scheme) ObjectKinds(object interface{}) ([]VersionKind, error) {
	structure := structOf(object)
	kinds, ok := s.kinds[structure]
	if !ok {
		return nil, &NotRegisteredError{Type: structure}
	}
	return slices.Clone(kinds), nil
}

// knows reports whether an object's type is registered.
func (s *Scheme) knows(object interface{}) bool { return s.kinds[structOf(object)] != nil }

// Convert converts an object into the one that out points to. It overwrites all of
// it, or nothing if it fails. An object of the same type is copied; the copy shares
// maps and slices. The error is a ConversionError or that of the conversion's
// function.
func (s *Scheme) Convert(in, out interface{}) error {
	target := reflect.ValueOf(out)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return &ConversionError{From: structOf(in), To: fmt.Sprint(structOf(out)), Reason: "the target must be a pointer that is not nil"}
	}
	converted, err := s.convert(in, target.Type().Elem())
	if err != nil {
		return err
	}
	target.Elem().Set(reflect.ValueOf(converted).Elem())
	return nil
}

// ConvertToVersion returns a pointer to the object of a version that another object
// becomes there. An object of that version is returned as it is. The error is a
// NotRegisteredError if the scheme does not know the object, or no such object in
// the version; else it is one of Convert.
func (s *Scheme) ConvertToVersion(in interface{}, version string) (interface{}, error) {
	to, err := s.typeIn(version, in)
	if err != nil {
		return nil, err
	}
	return s.convert(in, to)
}

// typeIn returns the type that an object has in a version, or becomes there. Of
// several it is the one whose conversion was added first.
func (s *Scheme) typeIn(version string, object interface{}) (reflect.Type, error) {
	from := structOf(object)
	kinds := s.kinds[from]
	if kinds == nil {
		return nil, &NotRegisteredError{Type: from}
	}
	isThere := func(structure reflect.Type) bool {
		return slices.ContainsFunc(s.kinds[structure], func(kind VersionKind) bool { return kind.Version == version })
	}
	if isThere(from) {
		return from, nil
	}
	if i := slices.IndexFunc(s.targets[from], isThere); i >= 0 {
		return s.targets[from][i], nil
	}
	if kinds[0].Version != Internal && slices.Contains(s.versions, version) {
		return nil, &ConversionError{From: from, To: "version " + version, Reason: "versions convert only to and from the internal one"}
	}
	return nil, &NotRegisteredError{Version: version, Kind: kinds[0].Kind}
}

func (s *Scheme) convert(in interface{}, to reflect.Type) (interface{}, error) {
	from := structOf(in)
	convert := s.converts[fromTo{from, to}]
	if convert == nil && from != to {
		return nil, &ConversionError{From: from, To: to.String(), Reason: "unknown conversion"}
	}
	if value := reflect.ValueOf(in); value.Kind() == reflect.Pointer && value.IsNil() {
		return nil, &ConversionError{From: from, To: to.String(), Reason: "the object is nil"}
	}
	if from == to {
		return pointerTo(in), nil
	}
	return convert(pointerTo(in))
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

// NotRegisteredError says that a scheme does not know a kind in a version, or a
// type.
type NotRegisteredError struct {
	Version, Kind string
	Type          reflect.Type // nil if a kind is unknown
}

// Error uses the words of today's scheme.
func (e *NotRegisteredError) Error() string {
	if e.Kind != "" {
		return fmt.Sprintf("no kind %q is registered for version %q", e.Kind, e.Version)
	}
	return fmt.Sprintf("no kind is registered for the type %v", e.Type)
}

// ConversionError says why the scheme cannot convert an object.
type ConversionError struct {
	From       reflect.Type // nil if there is no object
	To, Reason string
}

// Error begins with the words of today's scheme.
func (e *ConversionError) Error() string {
	return fmt.Sprintf("converting (%v) to (%s): %s", e.From, e.To, e.Reason)
}
