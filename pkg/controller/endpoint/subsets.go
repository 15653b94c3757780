package endpoint

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/util/pods"
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

// endpointSubsetsOf returns the addresses of the pods that a service selects.
func endpointSubsetsOf(service *corev1.Service, all []*corev1.Pod) []corev1.EndpointSubset {
	var subsets []corev1.EndpointSubset
	for _, backend := range Backends(service, all) {
		ip := backend.firstAddress(service)
		if ip == "" || backend.Terminating() && !service.Spec.PublishNotReadyAddresses {
			continue
		}
		subset, list := corev1.EndpointSubset{Ports: backend.Ports}, []corev1.EndpointAddress{{IP: ip, Hostname: backend.Hostname(service),
			NodeName: &backend.Pod.Spec.NodeName, TargetRef: backend.Reference()}}
		if backend.Ready(service) {
			subset.Addresses = list
		} else {
			subset.NotReadyAddresses = list
		}
		subsets = append(subsets, subset)
	}
	return repackEndpointSubsets(subsets)
}

// countsAsReady reports whether a pod is ready, or has no kubelet that reports, as in 2014.
func countsAsReady(pod *corev1.Pod) bool {
	if ready := pods.Condition(pod.Status.Conditions, corev1.PodReady); ready != nil {
		return ready.Status == corev1.ConditionTrue
	}
	return pod.Status.PodIP == "" && len(pod.Status.ContainerStatuses) == 0
}

// findPort returns the first port of a pod that is the wanted one, the zero value if there is none.
func findPort(pod *corev1.Pod, isWanted func(port corev1.ContainerPort) bool) corev1.ContainerPort {
	for i := range pod.Spec.Containers {
		if at := slices.IndexFunc(pod.Spec.Containers[i].Ports, isWanted); at >= 0 {
			return pod.Spec.Containers[i].Ports[at]
		}
	}
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if at := slices.IndexFunc(container.Ports, isWanted); at >= 0 && pods.IsSidecar(container) {
			return container.Ports[at]
		}
	}
	return corev1.ContainerPort{}
}

// firstHostPort returns the first host port of a pod, 0 if it has none.
func firstHostPort(pod *corev1.Pod) int32 {
	return findPort(pod, func(port corev1.ContainerPort) bool { return port.HostPort != 0 }).HostPort
}

// machineAddressOf returns the address of a pod's machine: its name, as in 2014, or else what the kubelet reports.
func machineAddressOf(pod *corev1.Pod) string {
	if _, err := netip.ParseAddr(pod.Spec.NodeName); err != nil && pod.Status.HostIP != "" {
		return pod.Status.HostIP
	}
	return pod.Spec.NodeName
}

// portsAtHost returns the ports of a pod with a host port: for each port of the service that of its
// target, or else the first one, as in 2014.
func portsAtHost(service *corev1.Service, pod *corev1.Pod, first int32) []corev1.EndpointPort {
	if len(service.Spec.Ports) == 0 {
		return []corev1.EndpointPort{{Port: first, Protocol: corev1.ProtocolTCP}}
	}
	var ports []corev1.EndpointPort
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		ports = append(ports, endpointPort(port, cmp.Or(hostPortOf(pod, targetPort(port, pod), protocolOf(port.Protocol)), first)))
	}
	return ports
}

// hostPortOf returns the host port of a port of a pod, 0 if it has none.
func hostPortOf(pod *corev1.Pod, containerPort int32, protocol corev1.Protocol) int32 {
	return findPort(pod, func(port corev1.ContainerPort) bool {
		return port.ContainerPort == containerPort && protocolOf(port.Protocol) == protocol && port.HostPort != 0
	}).HostPort
}

// portsAtPod returns the ports of a pod with its own address: the targets of the service's ports. It
// skips a target whose name the pod does not have.
func portsAtPod(service *corev1.Service, pod *corev1.Pod) []corev1.EndpointPort {
	var ports []corev1.EndpointPort
	for i := range service.Spec.Ports {
		if port := targetPort(&service.Spec.Ports[i], pod); port != 0 {
			ports = append(ports, endpointPort(&service.Spec.Ports[i], port))
		}
	}
	return ports
}

// targetPort returns the port of a pod that is meant by a port of a service, 0 if there is none.
func targetPort(port *corev1.ServicePort, pod *corev1.Pod) int32 {
	if port.TargetPort.Type == intstr.Int {
		return cmp.Or(port.TargetPort.IntVal, port.Port)
	}
	return findPort(pod, func(own corev1.ContainerPort) bool {
		return own.Name == port.TargetPort.StrVal && protocolOf(own.Protocol) == protocolOf(port.Protocol)
	}).ContainerPort
}

func endpointPort(port *corev1.ServicePort, number int32) corev1.EndpointPort {
	return corev1.EndpointPort{Name: port.Name, Port: number, Protocol: protocolOf(port.Protocol), AppProtocol: port.AppProtocol}
}

func protocolOf(protocol corev1.Protocol) corev1.Protocol {
	return cmp.Or(protocol, corev1.ProtocolTCP)
}

// areEndpointsWritable reports whether our server accepts all addresses.
func areEndpointsWritable(subsets []corev1.EndpointSubset) bool {
	for _, subset := range subsets {
		for _, address := range slices.Concat(subset.Addresses, subset.NotReadyAddresses) {
			if _, isWritable := Address(address.IP); !isWritable {
				return false
			}
		}
	}
	return true
}
