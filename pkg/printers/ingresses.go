package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ingresses prints *networkingv1.Ingress.
var Ingresses = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Class", "The name of the IngressClass resource that should be used for additional configuration"),
		text("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
		text("Address", "Address is a list containing ingress points for the load-balancer"),
		text("Ports", "Ports of TLS configurations that open"),
		ageColumn,
	},
	Cells: of(func(ingress *networkingv1.Ingress, now time.Time) []any {
		class, ports := "<none>", "80"
		if name := ingress.Spec.IngressClassName; name != nil {
			class = *name
		}
		if len(ingress.Spec.TLS) > 0 {
			ports = "80, 443"
		}
		var addresses []string
		for _, at := range ingress.Status.LoadBalancer.Ingress {
			if address := cmp.Or(at.IP, at.Hostname); address != "" {
				addresses = append(addresses, address)
			}
		}
		slices.Sort(addresses)
		return []any{ingress.Name, class, hosts(ingress.Spec.Rules), strings.Join(slices.Compact(addresses), ","), ports, since(ingress.CreationTimestamp.Time, now)}
	}),
}

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
var IngressClasses = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Controller", "Controller that is responsible for handling this class"),
		text("Parameters", "A reference to a resource with additional parameters"),
		ageColumn,
	},
	Cells: of(func(class *networkingv1.IngressClass, now time.Time) []any {
		name, parameters := class.Name, "<none>"
		if class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			name += " (default)"
		}
		if p := class.Spec.Parameters; p != nil {
			parameters = p.Kind
			if p.APIGroup != nil {
				parameters += "." + *p.APIGroup
			}
			parameters += "/" + p.Name
		}
		return []any{name, class.Spec.Controller, parameters, since(class.CreationTimestamp.Time, now)}
	}),
}

// NetworkPolicies prints *networkingv1.NetworkPolicy.
var NetworkPolicies = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Pod-Selector", networkingv1.NetworkPolicySpec{}.SwaggerDoc()["podSelector"]), ageColumn},
	Cells: of(func(policy *networkingv1.NetworkPolicy, now time.Time) []any {
		return []any{policy.Name, metav1.FormatLabelSelector(&policy.Spec.PodSelector), since(policy.CreationTimestamp.Time, now)}
	}),
}
