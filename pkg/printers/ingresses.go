package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ingresses prints *networkingv1.Ingress.
var Ingresses = table[networkingv1.Ingress](name,
	text("Class", "spec.ingressClassName", "The name of the IngressClass resource that should be used for additional configuration").or("<none>"),
	with(text("Hosts", "spec.rules", "Hosts that incoming requests are matched against before the ingress rule"), hosts),
	with(text("Address", "status.loadBalancer.ingress", "Address is a list containing ingress points for the load-balancer"), func(all []networkingv1.IngressLoadBalancerIngress) string {
		return strings.Join(balancers(all, func(at networkingv1.IngressLoadBalancerIngress) string { return cmp.Or(at.IP, at.Hostname) }), ",")
	}),
	with(text("Ports", "spec.tls", "Ports of TLS configurations that open"), func(tls []networkingv1.IngressTLS) string {
		return map[bool]string{true: "80, 443", false: "80"}[len(tls) > 0]
	}), age)

// hosts returns the first three hosts of rules. If there are more rules after these, it tells how many rules are not among
// the first three.
func hosts(rules []networkingv1.IngressRule) string {
	var names []string
	more := false
	for _, rule := range rules {
		if more = more || len(names) == 3; !more && rule.Host != "" {
			names = append(names, rule.Host)
		}
	}
	list := cmp.Or(strings.Join(names, ","), "*")
	if more {
		list += fmt.Sprintf(" + %d more...", len(rules)-3)
	}
	return list
}

// IngressClasses prints *networkingv1.IngressClass.
var IngressClasses = table[networkingv1.IngressClass](
	withDefault(name, networkingv1.AnnotationIsDefaultIngressClass),
	text("Controller", "spec.controller", "Controller that is responsible for handling this class"),
	with(text("Parameters", "spec.parameters", "A reference to a resource with additional parameters"), func(to *networkingv1.IngressClassParametersReference) string {
		if to == nil {
			return "<none>"
		}
		kind := to.Kind
		if to.APIGroup != nil {
			kind += "." + *to.APIGroup
		}
		return kind + "/" + to.Name
	}), age)

// withDefault marks the names of objects with an annotation that says that they are the default.
func withDefault(c column, annotations ...string) column {
	return with(c, func(object metav1.Object) string {
		if slices.ContainsFunc(annotations, func(name string) bool { return object.GetAnnotations()[name] == "true" }) {
			return object.GetName() + " (default)"
		}
		return object.GetName()
	})
}

// NetworkPolicies prints *networkingv1.NetworkPolicy.
var NetworkPolicies = table[networkingv1.NetworkPolicy](name, with(text("Pod-Selector", "spec.podSelector"), metav1.FormatLabelSelector), age)
