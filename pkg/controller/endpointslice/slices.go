package endpointslice

import (
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"kube2014/pkg/controller/endpoint"
)

// maxEndpoints is how many endpoints a slice may have.
const maxEndpoints = 1000

// SlicesOf returns the slices that say what endpoints say: for each subset those with addresses of version 4, and those of
// version 6. There is always one, which has the name of the service. The names of the others include a hash of the uid,
// because another service may be named db-1. Machines of June 2014 that have a name instead of an address are left out.
func SlicesOf(endpoints *corev1.Endpoints) (all []*discoveryv1.EndpointSlice) {
	for i := range endpoints.Subsets {
		subset := &endpoints.Subsets[i]
		for _, addressType := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
			list := endpointsOf(subset.Addresses, addressType, true)
			list = append(list, endpointsOf(subset.NotReadyAddresses, addressType, false)...)
			for chunk := range slices.Chunk(list, maxEndpoints) {
				all = append(all, &discoveryv1.EndpointSlice{AddressType: addressType, Ports: portsOf(subset.Ports), Endpoints: chunk})
			}
		}
	}
	if len(all) == 0 {
		all = []*discoveryv1.EndpointSlice{{AddressType: discoveryv1.AddressTypeIPv4}}
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(endpoints.UID)) // it never fails
	for i, slice := range all {
		slice.ObjectMeta = metav1.ObjectMeta{Namespace: endpoints.Namespace, Name: endpoints.Name, Labels: labelsOf(endpoints)}
		if i > 0 {
			slice.Name += fmt.Sprintf("-%05x-%d", hash.Sum32()&0xfffff, i)
		}
	}
	return all
}

func endpointsOf(addresses []corev1.EndpointAddress, addressType discoveryv1.AddressType, ready bool) (list []discoveryv1.Endpoint) {
	for i := range addresses {
		from := &addresses[i]
		ip, isWritable := endpoint.Address(from.IP)
		if !isWritable || ip.Is4() != (addressType == discoveryv1.AddressTypeIPv4) {
			continue
		}
		next := discoveryv1.Endpoint{Addresses: []string{ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			TargetRef: from.TargetRef, NodeName: from.NodeName}
		if from.Hostname != "" {
			next.Hostname = &from.Hostname
		}
		list = append(list, next)
	}
	return list
}

func portsOf(all []corev1.EndpointPort) (ports []discoveryv1.EndpointPort) {
	for i := range all {
		port := &all[i]
		ports = append(ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &port.Port, Protocol: &port.Protocol, AppProtocol: port.AppProtocol})
	}
	return ports
}

// labelsOf returns the labels of the slices of endpoints.
func labelsOf(endpoints *corev1.Endpoints) map[string]string {
	labels := validLabels(endpoints.Labels)
	delete(labels, discoveryv1.LabelSkipMirror)
	labels[discoveryv1.LabelServiceName] = endpoints.Name
	return labels
}

// validLabels returns labels that slices can have. Those of June 2014 have no rules: the ones that today's API refuses are
// left out.
func validLabels(all map[string]string) map[string]string {
	labels := map[string]string{}
	for name, value := range all {
		if len(utilvalidation.IsQualifiedName(name)) == 0 && len(utilvalidation.IsValidLabelValue(value)) == 0 {
			labels[name] = value
		}
	}
	return labels
}
