package endpoint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// addressesOfPort are the addresses that have a port, by their ip and pod.
type addressesOfPort struct {
	port            *corev1.EndpointPort // nil: without a port
	ready, notReady map[string]corev1.EndpointAddress
}

// repackEndpointSubsets returns equal subsets in the canonical form of today's endpoints: ports with
// the same addresses are one subset, and all is sorted.
func repackEndpointSubsets(subsets []corev1.EndpointSubset) []corev1.EndpointSubset {
	byPort := map[string]*addressesOfPort{}
	for _, subset := range subsets {
		if len(subset.Ports) == 0 {
			addToPort(byPort, "", nil, subset)
		}
		for i := range subset.Ports {
			addToPort(byPort, portText(subset.Ports[i]), &subset.Ports[i], subset)
		}
	}
	index := map[string]int{} // in packed, by the addresses
	var packed []corev1.EndpointSubset
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		of := byPort[port]
		key := addressesText(of)
		i, exists := index[key]
		if !exists {
			i = len(packed)
			index[key] = i
			packed = append(packed, corev1.EndpointSubset{Addresses: sortedAddresses(of.ready), NotReadyAddresses: sortedAddresses(of.notReady)})
		}
		if of.port != nil {
			packed[i].Ports = append(packed[i].Ports, *of.port)
		}
	}
	return packed
}

func addToPort(byPort map[string]*addressesOfPort, key string, port *corev1.EndpointPort, subset corev1.EndpointSubset) {
	if byPort[key] == nil {
		byPort[key] = &addressesOfPort{port, map[string]corev1.EndpointAddress{}, map[string]corev1.EndpointAddress{}}
	}
	for _, address := range subset.Addresses {
		byPort[key].ready[addressText(address)] = address
	}
	for _, address := range subset.NotReadyAddresses {
		byPort[key].notReady[addressText(address)] = address
	}
}

func sortedAddresses(addresses map[string]corev1.EndpointAddress) []corev1.EndpointAddress {
	return slices.SortedFunc(maps.Values(addresses), func(a, b corev1.EndpointAddress) int { return cmp.Compare(addressText(a), addressText(b)) })
}

func addressText(address corev1.EndpointAddress) string {
	if address.TargetRef == nil {
		return address.IP
	}
	return address.IP + " " + string(address.TargetRef.UID)
}

func addressesText(of *addressesOfPort) string {
	names := func(addresses map[string]corev1.EndpointAddress) string {
		return strings.Join(slices.Sorted(maps.Keys(addresses)), ",")
	}
	if of.port == nil { // it cannot be beside ports
		return "no port: " + names(of.ready) + "; " + names(of.notReady)
	}
	return names(of.ready) + "; " + names(of.notReady)
}

func portText(port corev1.EndpointPort) string {
	application := ""
	if port.AppProtocol != nil {
		application = *port.AppProtocol
	}
	return fmt.Sprintf("%s %05d %s %s", port.Name, port.Port, port.Protocol, application)
}
