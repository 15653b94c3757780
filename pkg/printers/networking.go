package printers

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IPAddresses prints *networkingv1.IPAddress.
var IPAddresses = table[networkingv1.IPAddress](name, with(text("ParentRef", "spec.parentRef"), func(parent *networkingv1.ParentReference) string {
	if parent == nil {
		return "<none>"
	}
	cell := strings.ToLower(schema.GroupResource{Group: parent.Group, Resource: parent.Resource}.String())
	if parent.Namespace != "" {
		cell += "/" + parent.Namespace
	}
	return cell + "/" + parent.Name
}))

// ServiceCIDRs prints *networkingv1.ServiceCIDR.
var ServiceCIDRs = table[networkingv1.ServiceCIDR](name, with(text("CIDRs", "spec.cidrs"), func(all []string) string { return strings.Join(all, ",") }), age)
