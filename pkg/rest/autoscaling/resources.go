// Package autoscaling has what scales others.
package autoscaling

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = autoscalingv2.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(horizontalpodautoscalers.Rows(b))
}

var horizontalpodautoscalers = generic.Kind[*autoscalingv2.HorizontalPodAutoscaler]{
	Row:    rest.InNamespaces(group, "HorizontalPodAutoscaler", "horizontalpodautoscalers", printers.Printer{}, "hpa").In("all"),
	Spec:   func(o *autoscalingv2.HorizontalPodAutoscaler) any { return &o.Spec },
	Status: func(o *autoscalingv2.HorizontalPodAutoscaler) any { return &o.Status },
}
