// Package autoscaling has what scales others.
package autoscaling

import (
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var row = rest.InNamespaces(autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler", "horizontalpodautoscalers", printers.HorizontalPodAutoscalers, "hpa").In("all")

// Resources returns the table of the group. The preferred version, in which the objects are stored, comes first.
func Resources(b generic.Base) []rest.Resource {
	old := row
	old.GroupVersion = autoscalingv1.SchemeGroupVersion
	old.Kind = old.GroupVersion.WithKind(row.Kind.Kind)
	return slices.Concat(horizontalpodautoscalers.Rows(b), generic.RowsIn[*autoscalingv1.HorizontalPodAutoscaler](old, horizontalpodautoscalers, b))
}
