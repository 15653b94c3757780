// Package scheduling has the priorities of pods.
package scheduling

import (
	"slices"

	schedulingv1 "k8s.io/api/scheduling/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = schedulingv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(priorityclasses.Rows(b))
}

var priorityclasses = generic.Kind[*schedulingv1.PriorityClass]{
	Row: rest.ClusterScoped(group, "PriorityClass", "priorityclasses", printers.Printer{}, "pc"),
}
