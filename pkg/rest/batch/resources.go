// Package batch has the kinds whose pods end.
package batch

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var (
	group    = batchv1.SchemeGroupVersion
	specPath = field.NewPath("spec")
)

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(cronjobs.Rows(b), jobs.Rows(b))
}

// nonnegative checks a number that may be missing.
func nonnegative[T int32 | int64](c *check.Errors, at *field.Path, value *T) {
	if value != nil {
		c.Nonnegative(at, int64(*value))
	}
}

func immutable[T any](c *check.Errors, at *field.Path, now, old T) {
	c.InvalidIf(!check.Same(now, old), at, now, "field is immutable")
}
