package admission

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
)

// Configured is an object of a configuration, and its path.
type Configured[T any] struct {
	Path   *field.Path
	Object T
}

// ObjectsIn decodes the configuration of a plugin: one object of a kind, a list of such objects, or
// nothing. The error names the field, and contains no values.
func ObjectsIn[T any, P interface {
	*T
	runtime.Object
}](configuration stdjson.RawMessage, kind schema.GroupVersionKind) ([]Configured[T], error) {
	root := field.NewPath("configuration")
	texts, pathOf := []stdjson.RawMessage{configuration}, func(int) *field.Path { return root }
	switch configuration = bytes.TrimSpace(configuration); {
	case len(configuration) == 0:
		return nil, nil
	case configuration[0] == '[':
		texts, pathOf = nil, root.Index
		if err := stdjson.Unmarshal(configuration, &texts); err != nil {
			return nil, fmt.Errorf("%s: is no JSON", root)
		}
	}
	var objects []Configured[T]
	for i, text := range texts {
		one := Configured[T]{Path: pathOf(i)}
		isKind := func() bool { return P(&one.Object).GetObjectKind().GroupVersionKind() == kind }
		wanted := kind.Kind + " of " + kind.GroupVersion().String()
		if err := decodeStrictly(text, &one.Object, one.Path, wanted, isKind); err != nil {
			return nil, err
		}
		if !isKind() {
			return nil, fmt.Errorf("%s: is no %s", one.Path, wanted)
		}
		objects = append(objects, one)
	}
	return objects, nil
}

// decodeStrictly decodes the JSON at a path, nil for the root. The error names an unknown field only if
// the object is of the wanted kind: fields of other texts may be secrets.
func decodeStrictly(text []byte, into any, path *field.Path, wanted string, isWanted func() bool) error {
	strict, err := json.UnmarshalStrict(text, into)
	var mistyped *stdjson.UnmarshalTypeError
	var unknown json.FieldError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return wrong(path, mistyped.Field, "has a value of another type")
	case errors.Is(err, resource.ErrFormatWrong), errors.Is(err, resource.ErrNumeric), errors.Is(err, resource.ErrSuffix):
		return wrong(path, "", "has a quantity that is not of the form of 1, 100m or 1Gi")
	case err != nil:
		return wrong(path, "", "is no "+wanted)
	case len(strict) > 0 && isWanted() && errors.As(strict[0], &unknown):
		return wrong(path, unknown.FieldPath(), "is an unknown field, or there twice")
	case len(strict) > 0:
		return wrong(path, "", "is no "+wanted+", and has unknown fields")
	}
	return nil
}

// wrong returns the error of a field below a path.
func wrong(path *field.Path, below, why string) error {
	if path == nil && below == "" {
		return errors.New(why)
	}
	at := below
	if path != nil {
		at = strings.TrimSuffix(path.String()+"."+below, ".")
	}
	return fmt.Errorf("%s: %s", at, why)
}
