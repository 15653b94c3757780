// Package node has the classes of runtimes.
package node

import (
	"slices"

	nodev1 "k8s.io/api/node/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = nodev1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(runtimeclasses.Rows(b))
}

var runtimeclasses = generic.Kind[*nodev1.RuntimeClass]{
	Row: rest.ClusterScoped(group, "RuntimeClass", "runtimeclasses", printers.Printer{}),
}
