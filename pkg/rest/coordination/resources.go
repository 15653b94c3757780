// Package coordination has leases, by which one of several is elected.
package coordination

import (
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = coordinationv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(leases.Rows(b))
}

var leases = generic.Kind[*coordinationv1.Lease]{
	Row:  rest.InNamespaces(group, "Lease", "leases", printers.Printer{}),
	Spec: func(o *coordinationv1.Lease) any { return &o.Spec },
}
