// Package coordination has leases, by which one of several is elected.
package coordination

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = coordinationv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b rest.Base) []rest.Resource { return leases.Rows(b) }

var leases = generic.Resource[*coordinationv1.Lease]{
	Row:                 rest.InNamespaces(group, "Lease", "leases", printers.Leases),
	AllowCreateOnUpdate: true,
	Prepare: func(now, _ *coordinationv1.Lease) {
		now.Spec.Strategy, now.Spec.PreferredHolder = nil, nil // today's server drops them: no coordinated election is on
	},
	Validate: func(c *check.Errors, now, _ *coordinationv1.Lease) {
		spec, at := &now.Spec, field.NewPath("spec")
		if seconds := spec.LeaseDurationSeconds; seconds != nil {
			c.InvalidIf(*seconds <= 0, at.Child("leaseDurationSeconds"), *seconds, "must be greater than 0")
		}
	},
}
