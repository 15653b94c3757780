// Package policy has the budgets of pods that may be disrupted.
package policy

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = policyv1.SchemeGroupVersion

// Resources returns the table of the group, and the budgets, from which evictions take.
func Resources(b generic.Base) ([]rest.Resource, Budgets) {
	store, rows := poddisruptionbudgets.Build(b)
	return rows, Budgets{store}
}

var poddisruptionbudgets = generic.Kind[*policyv1.PodDisruptionBudget]{
	Row:     rest.InNamespaces(group, "PodDisruptionBudget", "poddisruptionbudgets", printers.PodDisruptionBudgets, "pdb"),
	Counted: true,
	Name:    path.ValidatePathSegmentName,
	Rules: func(c *check.Errors, now, _ *policyv1.PodDisruptionBudget) {
		spec, at := &now.Spec, field.NewPath("spec")
		c.InvalidIf(spec.MinAvailable != nil && spec.MaxUnavailable != nil, at, spec, "minAvailable and maxUnavailable cannot be both set")
		c.Share(at.Child("minAvailable"), spec.MinAvailable)
		c.AtMostAll(at.Child("minAvailable"), spec.MinAvailable)
		c.Share(at.Child("maxUnavailable"), spec.MaxUnavailable)
		c.AtMostAll(at.Child("maxUnavailable"), spec.MaxUnavailable)
		c.Selector(at.Child("selector"), spec.Selector)
	},
	StatusRules: func(c *check.Errors, now, _ *policyv1.PodDisruptionBudget) {
		status, at := &now.Status, field.NewPath("status")
		c.Add(metav1validation.ValidateConditions(status.Conditions, at.Child("conditions"))...)
	},
}
