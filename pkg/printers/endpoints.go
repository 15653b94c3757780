package printers

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Endpoints prints *corev1.Endpoints.
var Endpoints = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Endpoints", corev1.Endpoints{}.SwaggerDoc()["subsets"]),
		ageColumn,
	},
	Cells: of(func(endpoints *corev1.Endpoints, now time.Time) []any {
		return []any{endpoints.Name, addresses(endpoints.Subsets), since(endpoints.CreationTimestamp.Time, now)}
	}),
}

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

var sliceDoc = discoveryv1.EndpointSlice{}.SwaggerDoc()

// EndpointSlices prints *discoveryv1.EndpointSlice.
var EndpointSlices = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("AddressType", sliceDoc["addressType"]),
		text("Ports", sliceDoc["ports"]),
		text("Endpoints", sliceDoc["endpoints"]),
		ageColumn,
	},
	Cells: of(sliceCells),
}

func sliceCells(slice *discoveryv1.EndpointSlice, now time.Time) []any {
	var ports, addresses []string
	for _, port := range slice.Ports {
		switch {
		case port.Port != nil:
			ports = append(ports, strconv.Itoa(int(*port.Port)))
		case port.Name != nil:
			ports = append(ports, *port.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for _, endpoint := range slice.Endpoints {
		addresses = append(addresses, endpoint.Addresses...)
	}
	return []any{
		slice.Name,
		string(slice.AddressType),
		cmp.Or(three(ports), "<unset>"),
		cmp.Or(three(addresses), "<unset>"),
		since(slice.CreationTimestamp.Time, now),
	}
}

// three returns the first three of a list, and how many more there are.
func three(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, ",")
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(list[:3], ","), len(list)-3)
}
