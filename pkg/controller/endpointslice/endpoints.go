package endpointslice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"kube2014/pkg/controller/endpoint"
	"kube2014/pkg/util/pods"
)

// group is the endpoints that may be in the same slices: they have the same type of address and the same ports.
type group struct {
	ports     []discoveryv1.EndpointPort
	endpoints map[string]place // by the names of pods
}

// place is the endpoint of a pod, with the time of what was changed last: the readiness. It is zero without a kubelet.
type place struct {
	discoveryv1.Endpoint
	changed time.Time
}

// groups are those of one type of address, by the text of their ports.
type groups map[string]*group

// endpointsByType returns the groups of a service for each of its types of addresses. A function returns the zone of a node,
// "" if that has none.
func endpointsByType(service *corev1.Service, all []*corev1.Pod, zoneOf func(node string) string) map[discoveryv1.AddressType]groups {
	backends := endpoint.Backends(service, all)
	byType := map[discoveryv1.AddressType]groups{}
	for _, family := range familiesOf(service, backends) {
		of := groups{}
		for i := range backends {
			if address := backends[i].Address(family); address != "" {
				of.add(service, &backends[i], address, zoneOf(backends[i].Pod.Spec.NodeName))
			}
		}
		byType[discoveryv1.AddressType(family)] = of
	}
	return byType
}

// familiesOf returns the IP families of a service. A server without a range of addresses gives it none: then it is that of
// its own address, or those of the pods.
func familiesOf(service *corev1.Service, backends []endpoint.Backend) []corev1.IPFamily {
	if len(service.Spec.IPFamilies) > 0 {
		return service.Spec.IPFamilies
	}
	if ip, isAddress := endpoint.Address(service.Spec.ClusterIP); isAddress && ip.Is4() {
		return []corev1.IPFamily{corev1.IPv4Protocol}
	} else if isAddress {
		return []corev1.IPFamily{corev1.IPv6Protocol}
	}
	hasIPv6 := slices.ContainsFunc(backends, func(b endpoint.Backend) bool { return b.Address(corev1.IPv6Protocol) != "" })
	hasIPv4 := slices.ContainsFunc(backends, func(b endpoint.Backend) bool { return b.Address(corev1.IPv4Protocol) != "" })
	switch {
	case !hasIPv6:
		return []corev1.IPFamily{corev1.IPv4Protocol}
	case !hasIPv4:
		return []corev1.IPFamily{corev1.IPv6Protocol}
	}
	return []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
}

// add adds the endpoint of a backend.
func (g groups) add(service *corev1.Service, backend *endpoint.Backend, address, zone string) {
	ports := portsOf(backend.Ports)
	key := portsText(ports)
	if g[key] == nil {
		g[key] = &group{ports, map[string]place{}}
	}
	ready, serving, terminating := backend.Ready(service), backend.Serving(), backend.Terminating()
	next := place{Endpoint: discoveryv1.Endpoint{Addresses: []string{address}, TargetRef: backend.Reference(), NodeName: &backend.Pod.Spec.NodeName,
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating}}}
	if name := backend.Hostname(service); name != "" {
		next.Hostname = &name
	}
	if zone != "" {
		next.Zone = &zone
	}
	if ready {
		next.Hints = hintsOf(service, &next.Endpoint)
	}
	if condition := pods.Condition(backend.Pod.Status.Conditions, corev1.PodReady); condition != nil {
		next.changed = condition.LastTransitionTime.Time
	}
	g[key].endpoints[backend.Pod.Name] = next
}

// hintsOf returns for whom an endpoint is, nil if it is for all.
func hintsOf(service *corev1.Service, of *discoveryv1.Endpoint) *discoveryv1.EndpointHints {
	if service.Spec.TrafficDistribution == nil {
		return nil
	}
	hints := &discoveryv1.EndpointHints{}
	switch *service.Spec.TrafficDistribution {
	case corev1.ServiceTrafficDistributionPreferSameNode:
		hints.ForNodes = []discoveryv1.ForNode{{Name: *of.NodeName}}
	case corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferClose:
	default:
		return nil
	}
	if of.Zone != nil {
		hints.ForZones = []discoveryv1.ForZone{{Name: *of.Zone}}
	}
	if hints.ForNodes == nil && hints.ForZones == nil {
		return nil
	}
	return hints
}

// portsText returns what ports have in common that are the same in another order.
func portsText(ports []discoveryv1.EndpointPort) string {
	texts := make([]string, 0, len(ports))
	for _, port := range ports {
		texts = append(texts, fmt.Sprintf("%s %d %s %s", valueOf(port.Name), valueOf(port.Port), valueOf(port.Protocol), valueOf(port.AppProtocol)))
	}
	slices.SortFunc(texts, cmp.Compare)
	return strings.Join(texts, ",")
}

func valueOf[T any](field *T) T { return *cmp.Or(field, new(T)) }
