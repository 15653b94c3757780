package printers

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodDisruptionBudgets prints *policyv1.PodDisruptionBudget.
var PodDisruptionBudgets = table[policyv1.PodDisruptionBudget](name,
	with(text("Min Available", "spec.minAvailable", "The minimum number of pods that must be available."), share),
	with(text("Max Unavailable", "spec.maxUnavailable", "The maximum number of pods that may be unavailable."), share),
	number("Allowed Disruptions", "status.disruptionsAllowed", "Calculated number of pods that may be disrupted at this time."), age)

func share(value *intstr.IntOrString) string {
	if value == nil {
		return "N/A"
	}
	return value.String()
}
