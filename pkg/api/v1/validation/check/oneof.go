package check

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// OneOf checks the first one of several things of which there may be one.
type OneOf struct {
	errors *Errors
	at     *field.Path
	kind   string
	found  bool
}

// OneOf begins to look at things of a kind, each a field of what is at the path.
func (c *Errors) OneOf(at *field.Path, kind string) *OneOf {
	return &OneOf{errors: c, at: at, kind: kind}
}

// Option looks at one of the things: its check is called if it is there and the first one.
func Option[T any](o *OneOf, name string, value *T, check func(value *T, at *field.Path)) {
	if value != nil && o.found {
		o.errors.Forbid(true, o.at.Child(name), "may not specify more than 1 "+o.kind)
	} else if value != nil {
		o.found = true
		check(value, o.at.Child(name))
	}
}

// Needed adds an error if none of the things is there.
func (o *OneOf) Needed(detail string) {
	o.errors.RequiredIf(!o.found, o.at, detail)
}
