package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/util/pems"
)

// Services looks up services and their endpoints. What it returns is not changed. It is safe for concurrent use.
type Services interface {
	Service(ctx context.Context, namespace, name string) (*corev1.Service, error)
	Endpoints(ctx context.Context, namespace, name string) (*corev1.Endpoints, error)
}

// ServiceResolver returns the address, HOST:PORT, at which the port of a service is reached now. It is safe for concurrent use.
type ServiceResolver func(ctx context.Context, namespace, name string, port int32) (string, error)

// NewServiceResolver returns a resolver of services. The address is that of the external name, the cluster IP, or a ready endpoint
// if there is no cluster IP. An error is that of the lookup, or service unavailable if the service has no such port or no ready endpoint.
func NewServiceResolver(services Services) ServiceResolver {
	return func(ctx context.Context, namespace, name string, port int32) (string, error) {
		service, err := services.Service(ctx, namespace, name)
		if err != nil {
			return "", err
		}
		switch service.Spec.Type {
		case corev1.ServiceTypeExternalName:
			return address(service.Spec.ExternalName, port), nil
		case "", corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer:
		default:
			return "", fmt.Errorf("unsupported service type %q", service.Spec.Type)
		}
		of := portOf(service, port)
		switch ip := service.Spec.ClusterIP; {
		case of == nil:
			return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", port, name))
		case ip != "" && ip != corev1.ClusterIPNone:
			return address(ip, port), nil
		}
		endpoints, err := services.Endpoints(ctx, namespace, name)
		if err != nil && !apierrors.IsNotFound(err) {
			return "", err
		}
		if ready := readyAddresses(endpoints, of.Name); len(ready) > 0 {
			return ready[rand.IntN(len(ready))], nil
		}
		return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
	}
}

// portOf returns the port of a service with a number, nil for none.
func portOf(service *corev1.Service, number int32) *corev1.ServicePort {
	for i := range service.Spec.Ports {
		if port := &service.Spec.Ports[i]; port.Port == number {
			return port
		}
	}
	return nil
}

// readyAddresses returns the ready addresses of a named port of endpoints, which may be nil.
func readyAddresses(endpoints *corev1.Endpoints, name string) (ready []string) {
	if endpoints == nil {
		return nil
	}
	for _, subset := range endpoints.Subsets {
		for _, port := range subset.Ports {
			if port.Name != name {
				continue
			}
			for _, at := range subset.Addresses {
				ready = append(ready, address(at.IP, port.Port))
			}
		}
	}
	return ready
}

func address(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// NewConfigured returns a client of the server that the configuration of a webhook names, and its URL. The query tells the
// server the timeout of each call. An error names a field at the path, and contains no values.
func NewConfigured(at *field.Path, config admissionregistrationv1.WebhookClientConfig, timeout time.Duration, resolve ServiceResolver) (*Client, string, error) {
	var authorities *x509.CertPool // nil for those of the system
	if len(bytes.TrimSpace(config.CABundle)) > 0 {
		var err error
		if authorities, err = pems.Pool(at.Child("caBundle").String(), config.CABundle); err != nil {
			return nil, "", err
		}
	}
	target := &url.URL{Scheme: "https", RawQuery: url.Values{"timeout": {timeout.String()}}.Encode()}
	service := config.Service
	if service == nil {
		if config.URL == nil {
			return nil, "", errors.New("webhook configuration must have either service or URL")
		}
		given, err := url.Parse(*config.URL)
		if err != nil || given.Scheme != "https" {
			return nil, "", fmt.Errorf("%s: is no URL of https", at.Child("url"))
		}
		target.Host, target.Path = given.Host, path.Join("/", given.Path) // as today's server does: envtest has //
		return NewAt(target.String(), authorities), target.String(), nil
	}
	port := int32(443)
	if service.Port != nil {
		port = cmp.Or(*service.Port, port)
	}
	target.Host = address(service.Name+"."+service.Namespace+".svc", port)
	target.Path = "/"
	if service.Path != nil {
		target.Path = path.Join("/", *service.Path)
	}
	namespace, name := service.Namespace, service.Name
	return NewAtService(target.String(), authorities, func(ctx context.Context) (string, error) {
		return resolve(ctx, namespace, name, port)
	}), target.String(), nil
}

// NewAtService is NewAt for a URL whose host is SERVICE.NAMESPACE.svc, the name in the certificate of the server. Each connection
// goes to the address that the resolver returns at that time.
func NewAtService(url string, authorities *x509.CertPool, resolve func(ctx context.Context) (string, error)) *Client {
	client := NewAt(url, authorities)
	dial := client.http.DialContext
	client.http.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		at, err := resolve(ctx)
		if err != nil {
			return nil, err
		}
		return dial(ctx, network, at)
	}
	return client
}
