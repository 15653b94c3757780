// Package policy has the budgets of pods that may be disrupted.
package policy

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
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
		share(c, at.Child("minAvailable"), spec.MinAvailable)
		share(c, at.Child("maxUnavailable"), spec.MaxUnavailable)
		c.Selector(at.Child("selector"), spec.Selector)
	},
	StatusRules: func(c *check.Errors, now, _ *policyv1.PodDisruptionBudget) {
		status, at := &now.Status, field.NewPath("status")
		c.Add(metav1validation.ValidateConditions(status.Conditions, at.Child("conditions"))...)
	},
}

// share requires a number of pods, or a percentage of them up to 100%.
func share(c *check.Errors, at *field.Path, value *intstr.IntOrString) {
	switch {
	case value == nil:
	case value.Type == intstr.Int:
		c.Nonnegative(at, int64(value.IntValue()))
	case len(utilvalidation.IsValidPercent(value.StrVal)) > 0:
		c.Each(at, value, utilvalidation.IsValidPercent(value.StrVal))
	default:
		percent, err := intstr.GetScaledValueFromIntOrPercent(value, 100, true)
		c.InvalidIf(err != nil || percent > 100, at, value, "must not be greater than 100%")
	}
}
