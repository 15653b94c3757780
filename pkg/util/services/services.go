// Package services finds the addresses at which the ports of services are reached.
package services

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Reader looks up services and what is behind them. What it returns is not changed. It is safe for concurrent use.
type Reader interface {
	Service(ctx context.Context, namespace, name string) (*corev1.Service, error)
	// EndpointSlices returns the slices of a service.
	EndpointSlices(ctx context.Context, namespace, service string) ([]*discoveryv1.EndpointSlice, error)
	Endpoints(ctx context.Context, namespace, name string) (*corev1.Endpoints, error)
}

// Resolver returns the addresses, HOST:PORT, at which the port of a service is reached now: one at least. It is safe for concurrent use.
type Resolver func(ctx context.Context, namespace, name string, port int32) ([]string, error)

// NewResolver returns a resolver. The address is that of the external name, or the cluster IP; or there are those of the ready endpoints if there
// is no cluster IP, or only endpoints are wanted. An error is that of the lookup, or service unavailable if the service has no such port or no
// ready endpoint.
func NewResolver(reader Reader, onlyEndpoints bool) Resolver {
	return func(ctx context.Context, namespace, name string, port int32) ([]string, error) {
		service, err := reader.Service(ctx, namespace, name)
		if err != nil {
			return nil, err
		}
		switch service.Spec.Type {
		case corev1.ServiceTypeExternalName:
			return []string{Address(service.Spec.ExternalName, port)}, nil
		case "", corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		default:
			return nil, fmt.Errorf("unsupported service type %q", service.Spec.Type)
		}
		of := PortOf(service, port)
		switch ip := service.Spec.ClusterIP; {
		case of == nil:
			return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, name))
		case ip != "" && ip != corev1.ClusterIPNone && !onlyEndpoints:
			return []string{Address(ip, port)}, nil
		}
		slices, err := SlicesOf(ctx, reader, namespace, name)
		if err != nil {
			return nil, err
		}
		if ready := ReadyAddresses(slices, of.Name); len(ready) > 0 {
			return ready, nil
		}
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
}

// Any returns one of some addresses.
func Any(addresses []string) string { return addresses[rand.IntN(len(addresses))] }

// PortOf returns the port of a service with a number, nil for none.
func PortOf(service *corev1.Service, number int32) *corev1.ServicePort {
	for i := range service.Spec.Ports {
		if port := &service.Spec.Ports[i]; port.Port == number {
			return port
		}
	}
	return nil
}

// SlicesOf returns the slices of a service. If there are none, they are made of its endpoints.
func SlicesOf(ctx context.Context, reader Reader, namespace, name string) ([]*discoveryv1.EndpointSlice, error) {
	slices, err := reader.EndpointSlices(ctx, namespace, name)
	if err != nil || len(slices) > 0 {
		return slices, err
	}
	endpoints, err := reader.Endpoints(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, subset := range endpoints.Subsets {
		slice := &discoveryv1.EndpointSlice{}
		for i := range subset.Ports {
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &subset.Ports[i].Name, Port: &subset.Ports[i].Port})
		}
		for _, at := range subset.Addresses {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{at.IP}})
		}
		slices = append(slices, slice)
	}
	return slices, nil
}

// ReadyAddresses returns the ready addresses of a named port in slices.
func ReadyAddresses(slices []*discoveryv1.EndpointSlice, name string) (ready []string) {
	for _, slice := range slices {
		for _, port := range slice.Ports {
			if port.Name == nil || *port.Name != name || port.Port == nil {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				if is := endpoint.Conditions.Ready; len(endpoint.Addresses) > 0 && (is == nil || *is) {
					ready = append(ready, Address(endpoint.Addresses[0], *port.Port))
				}
			}
		}
	}
	return ready
}

// Address returns HOST:PORT.
func Address(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
