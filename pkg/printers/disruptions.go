package printers

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PodDisruptionBudgets prints *policyv1.PodDisruptionBudget.
var PodDisruptionBudgets = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Min Available", "The minimum number of pods that must be available."),
		text("Max Unavailable", "The maximum number of pods that may be unavailable."),
		number("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time."),
		ageColumn,
	},
	Cells: of(func(budget *policyv1.PodDisruptionBudget, now time.Time) []any {
		share := func(value *intstr.IntOrString) string {
			if value == nil {
				return "N/A"
			}
			return value.String()
		}
		return []any{budget.Name, share(budget.Spec.MinAvailable), share(budget.Spec.MaxUnavailable), int64(budget.Status.DisruptionsAllowed),
			since(budget.CreationTimestamp.Time, now)}
	}),
}
