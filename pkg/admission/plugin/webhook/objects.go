package webhook

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
)

// configured is an object of a configuration, and where it is there.
type configured[T any] struct {
	path   *field.Path
	object T
}

// objectsIn decodes a configuration that is one object of a kind, or a list of such objects. The
// error names the field, and tells nothing of what is in it.
func objectsIn[T any, P interface {
	*T
	runtime.Object
}](configuration stdjson.RawMessage, kind schema.GroupVersionKind) (objects []configured[T], err error) {
	root := field.NewPath("configuration")
	texts, pathOf := []stdjson.RawMessage{configuration}, func(int) *field.Path { return root }
	switch configuration = bytes.TrimSpace(configuration); {
	case len(configuration) == 0:
		return nil, fmt.Errorf("%s: is missing", root)
	case configuration[0] == '[':
		texts, pathOf = nil, root.Index
		if err := stdjson.Unmarshal(configuration, &texts); err != nil {
			return nil, fmt.Errorf("%s: is no JSON", root)
		}
	}
	for i, text := range texts {
		one := configured[T]{path: pathOf(i)}
		strict, err := json.UnmarshalStrict(text, &one.object)
		var mistyped *stdjson.UnmarshalTypeError
		var unknown json.FieldError
		isKind := P(&one.object).GetObjectKind().GroupVersionKind() == kind
		switch {
		case errors.As(err, &mistyped) && mistyped.Field != "":
			return nil, fmt.Errorf("%s.%s: has a value of another type", one.path, mistyped.Field)
		case err != nil, !isKind: // its fields may be secrets
			return nil, fmt.Errorf("%s: is no %s of %s", one.path, kind.Kind, kind.GroupVersion())
		case len(strict) > 0 && errors.As(strict[0], &unknown):
			return nil, fmt.Errorf("%s.%s: is an unknown field, or there twice", one.path, unknown.FieldPath())
		}
		objects = append(objects, one)
	}
	return objects, nil
}
