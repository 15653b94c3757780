// Package check has the rules that objects of several kinds share, and collects what is
// wrong in the words of kube-apiserver 1.36.
package check

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Errors collects errors. Its methods add one if their condition does not hold. Only one
// goroutine may use it.
type Errors struct{ List field.ErrorList }

// Add adds errors.
func (c *Errors) Add(errs ...*field.Error) { c.List = append(c.List, errs...) }

// Forbid adds an error if something bad is there.
func (c *Errors) Forbid(bad bool, path *field.Path, detail string) {
	if bad {
		c.Add(field.Forbidden(path, detail))
	}
}

// InvalidIf adds an error about a value if it is bad.
func (c *Errors) InvalidIf(bad bool, path *field.Path, value any, detail string) {
	if bad {
		c.Add(field.Invalid(path, value, detail))
	}
}

// RequiredIf adds an error if something that must be there is not.
func (c *Errors) RequiredIf(missing bool, path *field.Path, detail string) {
	if missing {
		c.Add(field.Required(path, detail))
	}
}

// DuplicateIf adds an error about a value if it was there before.
func (c *Errors) DuplicateIf(twice bool, path *field.Path, value any) {
	if twice {
		c.Add(field.Duplicate(path, value))
	}
}

// Require asks for a text, and tells whether it is there.
func (c *Errors) Require(path *field.Path, text string) bool {
	c.RequiredIf(text == "", path, "")
	return text != ""
}

// Needs asks for the values of fields: it gets pairs of a name and a value.
func (c *Errors) Needs(at *field.Path, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		c.Require(at.Child(pair[0]), pair[1])
	}
}

// Some asks for at least one thing of a list, or one byte of a text.
func (c *Errors) Some(path *field.Path, length int, detail string) {
	c.RequiredIf(length == 0, path, detail)
}

// Each adds one error for each message about the value.
func (c *Errors) Each(path *field.Path, value any, messages []string) {
	for _, message := range messages {
		c.Add(field.Invalid(path, value, message))
	}
}

// Supported asks for one of the values, which are told in the order given.
func Supported[T ~string](c *Errors, path *field.Path, value T, values ...T) bool {
	ok := slices.Contains(values, value)
	if !ok {
		c.Add(field.NotSupported(path, value, values))
	}
	return ok
}

// RequireSupported is Supported for values that defaults set.
func RequireSupported[T ~string](c *Errors, path *field.Path, value T, values ...T) {
	if c.Require(path, string(value)) {
		Supported(c, path, value, values...)
	}
}

// IfSupported is Supported for what may be left out.
func IfSupported[T ~string](c *Errors, path *field.Path, value *T, values ...T) {
	if value != nil {
		Supported(c, path, *value, values...)
	}
}

// Unique reports values that it gets twice.
type Unique map[string]bool

// Check adds an error if the value was there before.
func (u Unique) Check(c *Errors, path *field.Path, value string) {
	c.DuplicateIf(u[value], path, value)
	u[value] = true
}

// SortedKeys returns the keys of a map in their order, so that errors have one too.
func SortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Same tells whether two values mean the same: an empty list is like none.
func Same(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// Is tells whether a flag is set and true.
func Is(flag *bool) bool { return flag != nil && *flag }
