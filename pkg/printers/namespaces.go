package printers

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespaces prints *corev1.Namespace.
var Namespaces = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Status", "The status of the namespace"), ageColumn},
	Cells: of(func(namespace *corev1.Namespace, now time.Time) []any {
		return []any{namespace.Name, string(namespace.Status.Phase), since(namespace.CreationTimestamp.Time, now)}
	}),
}
