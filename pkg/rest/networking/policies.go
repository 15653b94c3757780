package networking

import (
	networkingv1 "k8s.io/api/networking/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var ingresses = generic.Kind[*networkingv1.Ingress]{
	Row:     rest.InNamespaces(group, "Ingress", "ingresses", printers.Printer{}, "ing"),
	Spec:    func(o *networkingv1.Ingress) any { return &o.Spec },
	Status:  func(o *networkingv1.Ingress) any { return &o.Status },
	Counted: true,
}

var ingressClasses = generic.Kind[*networkingv1.IngressClass]{
	Row:     rest.ClusterScoped(group, "IngressClass", "ingressclasses", printers.Printer{}),
	Spec:    func(o *networkingv1.IngressClass) any { return &o.Spec },
	Counted: true,
}

var networkPolicies = generic.Kind[*networkingv1.NetworkPolicy]{
	Row:     rest.InNamespaces(group, "NetworkPolicy", "networkpolicies", printers.Printer{}, "netpol"),
	Spec:    func(o *networkingv1.NetworkPolicy) any { return &o.Spec },
	Counted: true,
}
