package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var serviceDoc = corev1.ServiceSpec{}.SwaggerDoc()

// Services prints *corev1.Service.
var Services = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Type", serviceDoc["type"]),
		text("Cluster-IP", serviceDoc["clusterIP"]),
		text("External-IP", serviceDoc["externalIPs"]),
		text("Port(s)", serviceDoc["ports"]),
		ageColumn,
		wide(text("Selector", serviceDoc["selector"])),
	},
	Cells: of(serviceCells),
}

func serviceCells(service *corev1.Service, now time.Time) []any {
	clusterIP := service.Spec.ClusterIP
	if len(service.Spec.ClusterIPs) > 0 {
		clusterIP = service.Spec.ClusterIPs[0]
	}
	var ports []string
	for _, port := range service.Spec.Ports {
		number := fmt.Sprint(port.Port)
		if port.NodePort > 0 {
			number = fmt.Sprintf("%d:%d", port.Port, port.NodePort)
		}
		ports = append(ports, fmt.Sprintf("%s/%s", number, port.Protocol))
	}
	return []any{
		service.Name,
		string(service.Spec.Type),
		cmp.Or(clusterIP, "<none>"),
		externalIP(service),
		cmp.Or(strings.Join(ports, ","), "<none>"),
		since(service.CreationTimestamp.Time, now),
		labels.FormatLabels(service.Spec.Selector),
	}
}

// externalIP returns the addresses or names outside the cluster, which depend on the service's type.
func externalIP(service *corev1.Service) string {
	own := service.Spec.ExternalIPs
	switch service.Spec.Type {
	case corev1.ServiceTypeExternalName:
		return service.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		return cmp.Or(strings.Join(append(balancers(service), own...), ","), "<pending>")
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return cmp.Or(strings.Join(own, ","), "<none>")
	}
	return "<unknown>"
}

// balancers returns the addresses of load balancers, each once, in order.
func balancers(service *corev1.Service) []string {
	var addresses []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if address := cmp.Or(ingress.IP, ingress.Hostname); address != "" {
			addresses = append(addresses, address)
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}
