package v1

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/api"
)

// managedBy is the label with which today's endpoints controller marks its endpoints.
const managedBy = "endpoints.kubernetes.io/managed-by"

func inEndpoints(endpoints corev1.Endpoints) (in api.Endpoints, err error) {
	in = api.Endpoints{Name: endpoints.Name, Endpoints: inSubsets(endpoints.Subsets), Managed: endpoints.Labels[managedBy] != ""}
	in.ObjectMeta, endpoints.ObjectMeta = inMeta(endpoints.ObjectMeta)
	endpoints.TypeMeta = metav1.TypeMeta{}
	in.Remainder, err = encodeRest(&endpoints)
	return in, err
}

// outEndpoints keeps the subsets of the remainder if they have the same addresses.
func outEndpoints(in api.Endpoints) (corev1.Endpoints, error) {
	endpoints, err := decodeRest[corev1.Endpoints](&in)
	if err != nil {
		return corev1.Endpoints{}, err
	}
	outMeta(&endpoints.ObjectMeta, &in)
	if !api.SameAddresses(inSubsets(endpoints.Subsets), in.Endpoints) {
		endpoints.Subsets = outSubsets(in)
	}
	return endpoints, nil
}

// inSubsets returns HOST:PORT for each pair of address and port.
func inSubsets(subsets []corev1.EndpointSubset) (addresses []string) {
	for _, subset := range subsets {
		for _, address := range subset.Addresses {
			for _, port := range subset.Ports {
				addresses = append(addresses, net.JoinHostPort(address.IP, strconv.Itoa(int(port.Port))))
			}
		}
	}
	return addresses
}

// outSubsets returns one subset for each port.
func outSubsets(in api.Endpoints) (subsets []corev1.EndpointSubset) {
	subsetOf := map[uint16]int{}
	for i, endpoint := range in.Endpoints {
		host, port, ok := api.SplitAddress(endpoint)
		if !ok {
			continue
		}
		at, known := subsetOf[port]
		if !known {
			at = len(subsets)
			subsetOf[port] = at
			subsets = append(subsets, corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Port: int32(port), Protocol: corev1.ProtocolTCP}}})
		}
		address := corev1.EndpointAddress{IP: host}
		if i < len(in.Targets) {
			target := in.Targets[i]
			address.NodeName = &host
			address.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: in.Key().Namespace, Name: target.TaskID, UID: types.UID(target.UID)}
		}
		subsets[at].Addresses = append(subsets[at].Addresses, address)
	}
	return subsets
}
