package endpoint

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util/pods"
)

// Backend is a pod that a service selects, with what serves it. Endpoints and their slices are both made of backends, so
// that they agree.
type Backend struct {
	Pod *corev1.Pod
	// Addresses are those of the pod, or of its machine if it has a host port. The first one is never empty; it may be the
	// name of a machine of June 2014.
	Addresses []string
	// Ports are those of the service, with the numbers at the addresses.
	Ports []corev1.EndpointPort
}

// Backends returns the backends of a service among pods, also those whose pods are being deleted, in the order of the pods.
func Backends(service *corev1.Service, all []*corev1.Pod) (backends []Backend) {
	for _, pod := range all {
		if !pods.Selects(service.Spec.Selector, pod.Labels) || pod.Spec.NodeName == "" || pods.HasEnded(pod) {
			continue
		}
		backend := Backend{Pod: pod}
		if port := firstHostPort(pod); port != 0 {
			backend.Addresses = []string{machineAddressOf(pod)}
			for _, host := range pod.Status.HostIPs {
				backend.Addresses = append(backend.Addresses, host.IP)
			}
			backend.Ports = portsAtHost(service, pod, port)
		} else {
			backend.Addresses = []string{pod.Status.PodIP}
			for _, own := range pod.Status.PodIPs {
				backend.Addresses = append(backend.Addresses, own.IP)
			}
			backend.Ports = portsAtPod(service, pod)
		}
		noPort := len(service.Spec.Ports) > 0 && len(backend.Ports) == 0
		if backend.Addresses[0] != "" && !noPort {
			backends = append(backends, backend)
		}
	}
	return backends
}

// Serving reports whether the pod is ready, or has no kubelet that reports, as in 2014.
func (b *Backend) Serving() bool { return countsAsReady(b.Pod) }

// Terminating reports whether the pod is being deleted.
func (b *Backend) Terminating() bool { return b.Pod.DeletionTimestamp != nil }

// Ready reports whether the service may use the pod.
func (b *Backend) Ready(service *corev1.Service) bool {
	return service.Spec.PublishNotReadyAddresses || b.Serving() && !b.Terminating()
}

// Hostname returns the name of the pod in the subdomain of the service, "" if it has none.
func (b *Backend) Hostname(service *corev1.Service) string {
	if b.Pod.Spec.Subdomain != service.Name {
		return ""
	}
	return b.Pod.Spec.Hostname
}

// Reference returns a reference to the pod.
func (b *Backend) Reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Namespace: b.Pod.Namespace, Name: b.Pod.Name, UID: b.Pod.UID}
}

// Address returns the address of an IP family in the usual form, "" if the pod has none that endpoints may have.
func (b *Backend) Address(family corev1.IPFamily) string {
	for _, text := range b.Addresses {
		if ip, isWritable := Address(text); isWritable && ip.Is4() == (family == corev1.IPv4Protocol) {
			return ip.String()
		}
	}
	return ""
}

// firstAddress returns the address that is in endpoints: that of the first family of the service, if this is known. The
// name of a machine has no family.
func (b *Backend) firstAddress(service *corev1.Service) string {
	families := service.Spec.IPFamilies
	if _, err := netip.ParseAddr(b.Addresses[0]); err != nil || len(families) == 0 {
		return b.Addresses[0]
	}
	first := slices.IndexFunc(b.Addresses, func(text string) bool {
		ip, err := netip.ParseAddr(text)
		return err == nil && ip.Unmap().Is4() == (families[0] == corev1.IPv4Protocol)
	})
	if first < 0 {
		return ""
	}
	return b.Addresses[first]
}

// Address parses an address. It reports whether our server accepts it in endpoints: it accepts loopback ones (K69), which
// hollow pods have.
func Address(text string) (ip netip.Addr, isWritable bool) {
	ip, err := netip.ParseAddr(text)
	ip = ip.Unmap()
	return ip, err == nil && (ip.IsGlobalUnicast() || ip.IsLoopback())
}
