// Package flowcontrol has which requests are served first.
package flowcontrol

import (
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = flowcontrolv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(flowschemas.Rows(b), prioritylevelconfigurations.Rows(b))
}

var flowschemas = generic.Kind[*flowcontrolv1.FlowSchema]{
	Row:     rest.ClusterScoped(group, "FlowSchema", "flowschemas", printers.Printer{}),
	Spec:    func(o *flowcontrolv1.FlowSchema) any { return &o.Spec },
	Status:  func(o *flowcontrolv1.FlowSchema) any { return &o.Status },
	Counted: true,
}

var prioritylevelconfigurations = generic.Kind[*flowcontrolv1.PriorityLevelConfiguration]{
	Row:     rest.ClusterScoped(group, "PriorityLevelConfiguration", "prioritylevelconfigurations", printers.Printer{}),
	Spec:    func(o *flowcontrolv1.PriorityLevelConfiguration) any { return &o.Spec },
	Status:  func(o *flowcontrolv1.PriorityLevelConfiguration) any { return &o.Status },
	Counted: true,
}
