package printers

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

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
	var all []string
	for _, port := range ports {
		switch {
		case port.Port != nil:
			all = append(all, strconv.Itoa(int(*port.Port)))
		case port.Name != nil:
			all = append(all, *port.Name)
		default:
			all = append(all, "*")
		}
	}
	return cmp.Or(three(all), "<unset>")
}

// three returns the first three of a list, and how many more there are.
func three(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, ",")
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(list[:3], ","), len(list)-3)
}
