// Package batch has the kinds whose pods end.
package batch

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
