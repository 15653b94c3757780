package printers

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Services prints *corev1.Service.
var Services = table[corev1.Service](name, text("Type", "spec.type"),
	with(text("Cluster-IP", "spec.clusterIP"), func(service *corev1.Service) string {
		if all := service.Spec.ClusterIPs; len(all) > 0 {
			return cmp.Or(all[0], "<none>")
		}
		return cmp.Or(service.Spec.ClusterIP, "<none>")
	}),
	with(text("External-IP", "spec.externalIPs"), externalIP),
	with(text("Port(s)", "spec.ports"), servicePorts), age,
	wide(with(text("Selector", "spec.selector"), labels.FormatLabels)))

func servicePorts(all []corev1.ServicePort) string {
	ports := each(all, func(port *corev1.ServicePort) string {
		if port.NodePort > 0 {
			return fmt.Sprintf("%d:%d/%s", port.Port, port.NodePort, port.Protocol)
		}
		return fmt.Sprintf("%d/%s", port.Port, port.Protocol)
	})
	return cmp.Or(strings.Join(ports, ","), "<none>")
}

// externalIP returns the addresses or names outside the cluster, which depend on the service's type.
func externalIP(service *corev1.Service) string {
	own := service.Spec.ExternalIPs
	switch service.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return service.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		all := balancers(service.Status.LoadBalancer.Ingress, func(at corev1.LoadBalancerIngress) string { return cmp.Or(at.IP, at.Hostname) })
		return cmp.Or(strings.Join(append(all, own...), ","), "<pending>")
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return cmp.Or(strings.Join(own, ","), "<none>")
	}
	return "<unknown>"
}

// balancers returns the addresses of load balancers, each once, in order.
func balancers[T any](all []T, addressOf func(T) string) (addresses []string) {
	for _, one := range all {
		if address := addressOf(one); address != "" {
			addresses = append(addresses, address)
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// Endpoints prints *corev1.Endpoints.
var Endpoints = table[corev1.Endpoints](name, with(text("Endpoints", "subsets"), addresses), age)

// addresses returns the ready addresses of endpoints with each of their ports, or without a port
// if a subset has none.
func addresses(subsets []corev1.EndpointSubset) string {
	if len(subsets) == 0 {
		return "<none>"
	}
	var all []string
	for _, subset := range subsets {
		if len(subset.Ports) == 0 {
			for _, address := range subset.Addresses {
				all = append(all, address.IP)
			}
		}
		for _, port := range subset.Ports {
			for _, address := range subset.Addresses {
				all = append(all, net.JoinHostPort(address.IP, strconv.Itoa(int(port.Port))))
			}
		}
	}
	return three(all)
}

// EndpointSlices prints *discoveryv1.EndpointSlice.
var EndpointSlices = table[discoveryv1.EndpointSlice](name, text("AddressType", "addressType"), with(text("Ports", "ports"), slicePorts),
	with(text("Endpoints", "endpoints"), func(endpoints []discoveryv1.Endpoint) string {
		var addresses []string
		for _, endpoint := range endpoints {
			addresses = append(addresses, endpoint.Addresses...)
		}
		return cmp.Or(three(addresses), "<unset>")
	}), age)

func slicePorts(ports []discoveryv1.EndpointPort) string {
	all := each(ports, func(port *discoveryv1.EndpointPort) string {
		if port.Port != nil {
			return strconv.Itoa(int(*port.Port))
		}
		return *cmp.Or(port.Name, new("*"))
	})
	return cmp.Or(three(all), "<unset>")
}

// three returns the first three of a list, and how many more there are.
func three(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, ",")
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(list[:3], ","), len(list)-3)
}

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
	with(text("Parameters", "spec.parameters", "A reference to a resource with additional parameters").or("<none>"), func(to *networkingv1.IngressClassParametersReference) string {
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

// IPAddresses prints *networkingv1.IPAddress.
var IPAddresses = table[networkingv1.IPAddress](name, with(text("ParentRef", "spec.parentRef").or("<none>"), func(parent *networkingv1.ParentReference) string {
	cell := strings.ToLower(schema.GroupResource{Group: parent.Group, Resource: parent.Resource}.String())
	if parent.Namespace != "" {
		cell += "/" + parent.Namespace
	}
	return cell + "/" + parent.Name
}))

// ServiceCIDRs prints *networkingv1.ServiceCIDR.
var ServiceCIDRs = table[networkingv1.ServiceCIDR](name, with(text("CIDRs", "spec.cidrs"), func(all []string) string { return strings.Join(all, ",") }), age)
