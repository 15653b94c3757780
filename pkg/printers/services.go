package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	var ports []string
	for _, port := range all {
		number := fmt.Sprint(port.Port)
		if port.NodePort > 0 {
			number = fmt.Sprintf("%d:%d", port.Port, port.NodePort)
		}
		ports = append(ports, fmt.Sprintf("%s/%s", number, port.Protocol))
	}
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
