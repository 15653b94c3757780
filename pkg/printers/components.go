package printers

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Components prints *corev1.ComponentStatus.
var Components = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Status", "Status of the component conditions"),
		text("Message", "Message of the component conditions"),
		text("Error", "Error of the component conditions"),
	},
	Cells: of(func(component *corev1.ComponentStatus, _ time.Time) []any {
		for _, condition := range component.Conditions {
			if condition.Type == corev1.ComponentHealthy {
				status := "Unhealthy"
				if condition.Status == corev1.ConditionTrue {
					status = "Healthy"
				}
				return []any{component.Name, status, condition.Message, condition.Error}
			}
		}
		return []any{component.Name, "Unknown", "", ""}
	}),
}
