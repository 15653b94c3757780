// Package policy has the budgets of pods that may be disrupted.
package policy

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = policyv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(poddisruptionbudgets.Rows(b))
}

var poddisruptionbudgets = generic.Kind[*policyv1.PodDisruptionBudget]{
	Row:     rest.InNamespaces(group, "PodDisruptionBudget", "poddisruptionbudgets", printers.Printer{}, "pdb"),
	Spec:    func(o *policyv1.PodDisruptionBudget) any { return &o.Spec },
	Status:  func(o *policyv1.PodDisruptionBudget) any { return &o.Status },
	Counted: true,
}
