// Package check has the rules that objects of several kinds share. It collects errors in the words
// of kube-apiserver 1.36.
package check

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Errors collects errors. Its methods add an error if a rule is broken. It is for one goroutine.
type Errors struct{ List field.ErrorList }

// Add adds errors.
func (c *Errors) Add(errs ...*field.Error) { c.List = append(c.List, errs...) }

// Forbid adds an error if a forbidden field is set.
func (c *Errors) Forbid(bad bool, path *field.Path, detail string) {
	if bad {
		c.Add(field.Forbidden(path, detail))
	}
}

// InvalidIf adds an error about an invalid value.
func (c *Errors) InvalidIf(bad bool, path *field.Path, value any, detail string) {
	if bad {
		c.Add(field.Invalid(path, value, detail))
	}
}

// RequiredIf adds an error if a required field is missing.
func (c *Errors) RequiredIf(missing bool, path *field.Path, detail string) {
	if missing {
		c.Add(field.Required(path, detail))
	}
}

// Immutable requires that a field keeps its value.
func (c *Errors) Immutable(path *field.Path, now, old any) {
	c.InvalidIf(!Same(now, old), path, now, "field is immutable")
}

// DuplicateIf adds an error about a repeated value.
func (c *Errors) DuplicateIf(twice bool, path *field.Path, value any) {
	if twice {
		c.Add(field.Duplicate(path, value))
	}
}

// Require requires a text, and reports whether it is set.
func (c *Errors) Require(path *field.Path, text string) bool {
	c.RequiredIf(text == "", path, "")
	return text != ""
}

// RequireBy requires a text that is set and obeys a rule.
func (c *Errors) RequireBy(path *field.Path, text string, rule func(path *field.Path, text string)) {
	if c.Require(path, text) {
		rule(path, text)
	}
}

// Optional applies a rule to a text that is set.
func (c *Errors) Optional(path *field.Path, text string, rule func(path *field.Path, text string)) {
	if text != "" {
		rule(path, text)
	}
}

// IfSet applies a rule to a value that is set.
func IfSet[T any](path *field.Path, value *T, rule func(path *field.Path, value T)) {
	if value != nil {
		rule(path, *value)
	}
}

// AtMost bounds the number of entries of a list.
func (c *Errors) AtMost(path *field.Path, length, most int) {
	if length > most {
		c.Add(field.TooMany(path, length, most))
	}
}

// NotLonger bounds the length of a text. The error does not contain it.
func (c *Errors) NotLonger(path *field.Path, length, most int) {
	if length > most {
		c.Add(field.TooLong(path, "", most))
	}
}

// Needs requires the values of fields. The arguments are pairs of a name and a value.
func (c *Errors) Needs(at *field.Path, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		c.Require(at.Child(pair[0]), pair[1])
	}
}

// Some requires a list or a text that is not empty.
func (c *Errors) Some(path *field.Path, length int, detail string) {
	c.RequiredIf(length == 0, path, detail)
}

// Each adds an error for each message about a value.
func (c *Errors) Each(path *field.Path, value any, messages []string) {
	for _, message := range messages {
		c.Add(field.Invalid(path, value, message))
	}
}

// Supported requires one of the values, which the error lists in their order.
func Supported[T ~string](c *Errors, path *field.Path, value T, values ...T) bool {
	ok := slices.Contains(values, value)
	if !ok {
		c.Add(field.NotSupported(path, value, values))
	}
	return ok
}

// RequireSupported requires a value, and that it is supported.
func RequireSupported[T ~string](c *Errors, path *field.Path, value T, values ...T) {
	if c.Require(path, string(value)) {
		Supported(c, path, value, values...)
	}
}

// IfSupported is Supported for optional fields.
func IfSupported[T ~string](c *Errors, path *field.Path, value *T, values ...T) {
	if value != nil {
		Supported(c, path, *value, values...)
	}
}

// Unique detects repeated values.
type Unique map[string]bool

// Check adds an error if the value is repeated.
func (u Unique) Check(c *Errors, path *field.Path, value string) {
	c.DuplicateIf(u[value], path, value)
	u[value] = true
}

// SortedKeys returns the keys of a map in order, which makes the order of errors stable.
func SortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Same reports whether two values mean the same. An empty list equals a missing one, and the spaces of JSON do not count:
// an object is answered without those with which it was sent.
func Same(a, b any) bool { return semantic.DeepEqual(a, b) }

var semantic = func() conversion.Equalities {
	e := equality.Semantic.Copy()
	utilruntime.Must(e.AddFunc(func(a, b runtime.RawExtension) bool { return bytes.Equal(stored(a.Raw), stored(b.Raw)) }))
	return e
}()

// stored returns JSON as encoding/json writes it in an object, and other text as it is.
func stored(text []byte) []byte {
	if written, err := json.Marshal(json.RawMessage(text)); err == nil {
		return written
	}
	return text
}

// Is reports whether a flag is set and true.
func Is(flag *bool) bool { return flag != nil && *flag }

// OneOf checks the first of several options of which only one may be set.
type OneOf struct {
	errors *Errors
	at     *field.Path
	kind   string
	found  bool
}

// OneOf begins the check of options of a kind, which are fields of the value at the path.
func (c *Errors) OneOf(at *field.Path, kind string) *OneOf {
	return &OneOf{errors: c, at: at, kind: kind}
}

// Option calls the check of an option that is set, unless an earlier one was: that is an error.
func Option[T any](o *OneOf, name string, value *T, check func(value *T, at *field.Path)) {
	if value != nil && o.found {
		o.errors.Forbid(true, o.at.Child(name), "may not specify more than 1 "+o.kind)
	} else if value != nil {
		o.found = true
		check(value, o.at.Child(name))
	}
}

// Needed adds an error if none of the options is set.
func (o *OneOf) Needed(detail string) {
	o.errors.RequiredIf(!o.found, o.at, detail)
}
