package check

import "k8s.io/apimachinery/pkg/util/validation/field"

// IfNonnegative is Nonnegative for optional fields.
func IfNonnegative[T ~int32 | ~int64](c *Errors, path *field.Path, value *T) {
	if value != nil {
		c.Nonnegative(path, int64(*value))
	}
}

// Immutable requires that a field keeps its value.
func (c *Errors) Immutable(path *field.Path, now, old any) {
	c.InvalidIf(!Same(now, old), path, now, "field is immutable")
}
