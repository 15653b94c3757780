package printers

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// PriorityClasses prints *schedulingv1.PriorityClass.
var PriorityClasses = table[schedulingv1.PriorityClass](name, number("Value", "value"), truth("Global-Default", "globalDefault"), age, text("PreemptionPolicy", "preemptionPolicy"))

// RuntimeClasses prints *nodev1.RuntimeClass. As on today's server, a column has no description.
var RuntimeClasses = table[nodev1.RuntimeClass](name, with(text("Handler", ""), func(class *nodev1.RuntimeClass) string { return class.Handler }), age)

// Leases prints *coordinationv1.Lease.
var Leases = table[coordinationv1.Lease](name, text("Holder", "spec.holderIdentity"), age)
