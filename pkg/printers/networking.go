package printers

import (
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IPAddresses prints *networkingv1.IPAddress.
var IPAddresses = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("ParentRef", networkingv1.IPAddressSpec{}.SwaggerDoc()["parentRef"])},
	Cells: of(func(address *networkingv1.IPAddress, _ time.Time) []any {
		parent := address.Spec.ParentRef
		if parent == nil {
			return []any{address.Name, "<none>"}
		}
		cell := strings.ToLower(schema.GroupResource{Group: parent.Group, Resource: parent.Resource}.String())
		if parent.Namespace != "" {
			cell += "/" + parent.Namespace
		}
		return []any{address.Name, cell + "/" + parent.Name}
	}),
}

// ServiceCIDRs prints *networkingv1.ServiceCIDR.
var ServiceCIDRs = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("CIDRs", networkingv1.ServiceCIDRSpec{}.SwaggerDoc()["cidrs"]), ageColumn},
	Cells: of(func(block *networkingv1.ServiceCIDR, now time.Time) []any {
		return []any{block.Name, strings.Join(block.Spec.CIDRs, ","), since(block.CreationTimestamp.Time, now)}
	}),
}
