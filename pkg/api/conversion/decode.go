package conversion

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"kube2014/pkg/api"
)

// MaxIndentedSize is the size of the largest accepted body, in bytes, once it is
// indented like an answer. Without this limit, 1 MiB of nested brackets would be
// answered with gigabytes of blanks (D33).
const MaxIndentedSize = 16 << 20

// Decode reads one JSON object from a request's body into the internal object
// that into points to. Unknown fields are ignored and field names match in any
// letter case. The error is an api.Invalid one that names the field, or "body"
// (D9).
func (c *Codec) Decode(body string, into interface{}) error {
	if trimmed := strings.TrimLeft(body, " \t\r\n"); trimmed == "" {
		return api.NewInvalid("body", "must be a JSON object, but it is empty")
	} else if trimmed[0] != '{' {
		return api.NewInvalid("body", "must be a JSON object")
	}
	if IndentedSize(body) > MaxIndentedSize {
		return api.NewInvalid("body", "is nested too deeply: indented, it would have more than %d bytes", MaxIndentedSize)
	}
	err := c.Unmarshal([]byte(body), into)
	if err == nil {
		return nil
	}
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		return api.NewInvalid(fieldPath(wrongType), "expected %s, got %s", wanted(wrongType.Type), wrongType.Value)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return api.NewInvalid("body", "is not JSON: %s, at byte %d", syntax.Error(), syntax.Offset)
	}
	return err
}

// fieldPath returns a field's path in the JSON, where embedded structs have no
// name.
func fieldPath(err *json.UnmarshalTypeError) string {
	path := strings.TrimPrefix(err.Field, "JSONBase.")
	if path == "" {
		return "body"
	}
	return path
}

// wanted describes the JSON that a Go type is decoded from.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Float64:
		return "a number in range"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "an integer in range"
}

// IndentedSize estimates the size of a JSON text, in bytes, with each value on a line
// of its own, indented by four spaces a level.
func IndentedSize[Text string | []byte](text Text) int {
	size, level, inString := len(text), 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{', c == '[':
			level++
			size += 4 * level
		case c == '}', c == ']':
			level--
			size += 4 * level
		case c == ',':
			size += 4 * level
		}
	}
	return size
}
