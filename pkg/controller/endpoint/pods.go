package endpoint

import (
	"cmp"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/util/pods"
)

// endpointSubsetsOf returns the addresses of the pods that a service selects.
func endpointSubsetsOf(service *corev1.Service, all []*corev1.Pod) []corev1.EndpointSubset {
	var subsets []corev1.EndpointSubset
	for _, pod := range all {
		if !pods.Selects(service.Spec.Selector, pod.Labels) || !isEndpoint(service, pod) {
			continue
		}
		subset := corev1.EndpointSubset{}
		address := corev1.EndpointAddress{NodeName: &pod.Spec.NodeName,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
		if port := firstHostPort(pod); port != 0 {
			address.IP = machineAddressOf(pod)
			subset.Ports = portsAtHost(service, pod, port)
		} else {
			address.IP = pod.Status.PodIP
			subset.Ports = portsAtPod(service, pod)
		}
		noPort := len(service.Spec.Ports) > 0 && len(subset.Ports) == 0
		if address.IP == "" || noPort {
			continue
		}
		if service.Spec.PublishNotReadyAddresses || countsAsReady(pod) {
			subset.Addresses = []corev1.EndpointAddress{address}
		} else {
			subset.NotReadyAddresses = []corev1.EndpointAddress{address}
		}
		subsets = append(subsets, subset)
	}
	return repackEndpointSubsets(subsets)
}

// isEndpoint reports whether a pod that a service selects can serve.
func isEndpoint(service *corev1.Service, pod *corev1.Pod) bool {
	leaves := pod.DeletionTimestamp != nil && !service.Spec.PublishNotReadyAddresses
	return pod.Spec.NodeName != "" && !pods.HasEnded(pod) && !leaves
}

// countsAsReady reports whether a pod is ready, or nobody reports about it, as in 2014.
func countsAsReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return pod.Status.PodIP == "" && len(pod.Status.ContainerStatuses) == 0
}

// firstHostPort returns the first host port of a pod, 0 if it has none.
func firstHostPort(pod *corev1.Pod) int32 {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				return port.HostPort
			}
		}
	}
	return 0
}

// machineAddressOf returns the address of a pod's machine: its name, as in 2014, or else what the kubelet tells.
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
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.ContainerPort == containerPort && protocolOf(port.Protocol) == protocol && port.HostPort != 0 {
				return port.HostPort
			}
		}
	}
	return 0
}

// portsAtPod returns the ports of a pod with an address of its own: the targets of the service's
// ports. A port whose target has a name that the pod has not is passed.
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
		if port.TargetPort.IntVal == 0 {
			return port.Port
		}
		return port.TargetPort.IntVal
	}
	for _, container := range pod.Spec.Containers {
		for _, own := range container.Ports {
			if own.Name == port.TargetPort.StrVal && protocolOf(own.Protocol) == protocolOf(port.Protocol) {
				return own.ContainerPort
			}
		}
	}
	return 0
}

func endpointPort(port *corev1.ServicePort, number int32) corev1.EndpointPort {
	return corev1.EndpointPort{Name: port.Name, Port: number, Protocol: protocolOf(port.Protocol), AppProtocol: port.AppProtocol}
}

func protocolOf(protocol corev1.Protocol) corev1.Protocol {
	if protocol == "" {
		return corev1.ProtocolTCP
	}
	return protocol
}

// areEndpointsWritable reports whether our server takes all addresses: also loopback ones (K69), where
// hollow pods are.
func areEndpointsWritable(subsets []corev1.EndpointSubset) bool {
	for _, subset := range subsets {
		for _, addresses := range [][]corev1.EndpointAddress{subset.Addresses, subset.NotReadyAddresses} {
			for _, address := range addresses {
				ip, err := netip.ParseAddr(address.IP)
				if err != nil || !ip.Unmap().IsGlobalUnicast() && !ip.Unmap().IsLoopback() {
					return false
				}
			}
		}
	}
	return true
}
