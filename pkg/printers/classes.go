package printers

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var priorityDoc = schedulingv1.PriorityClass{}.SwaggerDoc()

// PriorityClasses prints *schedulingv1.PriorityClass.
var PriorityClasses = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		number("Value", priorityDoc["value"]),
		{Name: "Global-Default", Type: "boolean", Description: priorityDoc["globalDefault"]},
		ageColumn,
		text("PreemptionPolicy", priorityDoc["preemptionPolicy"]),
	},
	Cells: of(func(class *schedulingv1.PriorityClass, now time.Time) []any {
		var policy string
		if class.PreemptionPolicy != nil {
			policy = string(*class.PreemptionPolicy)
		}
		return []any{class.Name, int64(class.Value), class.GlobalDefault, since(class.CreationTimestamp.Time, now), policy}
	}),
}

// RuntimeClasses prints *nodev1.RuntimeClass.
var RuntimeClasses = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Handler", metadataDoc["handler"]), ageColumn},
	Cells: of(func(class *nodev1.RuntimeClass, now time.Time) []any {
		return []any{class.Name, class.Handler, since(class.CreationTimestamp.Time, now)}
	}),
}

// Leases prints *coordinationv1.Lease.
var Leases = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Holder", coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"]), ageColumn},
	Cells: of(func(lease *coordinationv1.Lease, now time.Time) []any {
		var holder string
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		return []any{lease.Name, holder, since(lease.CreationTimestamp.Time, now)}
	}),
}
