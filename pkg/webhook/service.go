package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ServiceResolver returns the address, with a port, at which a port of a service is reached now.
type ServiceResolver func(ctx context.Context, namespace, name string, port int32) (address string, err error)

// Services reads services and their endpoints.
type Services interface {
	Service(ctx context.Context, namespace, name string) (*corev1.Service, error)
	Endpoints(ctx context.Context, namespace, name string) (*corev1.Endpoints, error)
}

// Resolver returns the ServiceResolver for the services of a server: the external name of a service, or its cluster IP, or
// else one of its ready endpoints.
func Resolver(services Services) ServiceResolver {
	return func(ctx context.Context, namespace, name string, port int32) (string, error) {
		service, err := services.Service(ctx, namespace, name)
		if err != nil {
			return "", err
		}
		if service.Spec.Type == corev1.ServiceTypeExternalName {
			return addressOf(service.Spec.ExternalName, port), nil
		}
		i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
		if i < 0 {
			return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, name))
		}
		if ip := service.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone {
			return addressOf(ip, port), nil
		}
		endpoints, err := services.Endpoints(ctx, namespace, name)
		if err != nil {
			return "", err
		}
		for _, subset := range endpoints.Subsets {
			at := slices.IndexFunc(subset.Ports, func(p corev1.EndpointPort) bool { return p.Name == service.Spec.Ports[i].Name })
			if at >= 0 && len(subset.Addresses) > 0 {
				return addressOf(subset.Addresses[0].IP, subset.Ports[at].Port), nil
			}
		}
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
}

func addressOf(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// NewOfService is NewAt for a service, whose address is found for each connection. Its certificate is for NAME.NAMESPACE.svc.
func NewOfService(namespace, name string, port int32, path string, authorities *x509.CertPool, resolve ServiceResolver) *Client {
	host := name + "." + namespace + ".svc"
	client := NewAt("https://"+addressOf(host, port)+path, authorities)
	client.http.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities, ServerName: host}
	dial := client.http.DialContext
	client.http.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		address, err := resolve(ctx, namespace, name, port)
		if err != nil {
			return nil, err
		}
		return dial(ctx, network, address)
	}
	return client
}
