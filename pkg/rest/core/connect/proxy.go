package connect

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// target is what the name in a request for a web server says: NAME, NAME:PORT or SCHEME:NAME:PORT.
type target struct{ scheme, name, port string }

func parseTarget(kind, text string) (target, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(text)
	if !ok {
		return target{}, apierrors.NewBadRequest(fmt.Sprintf("invalid %s request %q", kind, text))
	}
	return target{cmp.Or(scheme, "http"), name, port}, nil
}

// at returns the location of a path at a host. The port may be "".
func (t target) at(host, port, path string, transport http.RoundTripper) *rest.Location {
	address := &url.URL{Scheme: t.scheme, Host: net.JoinHostPort(host, port), Path: utilnet.JoinPreservingTrailingSlash("", path)}
	if port == "" {
		address.Host = address.Host[:len(address.Host)-1]
	}
	return &rest.Location{URL: address, Transport: transport}
}

// checkAddress returns an error if requests may not be sent on to an IP address. Loopback addresses are those of hollow pods.
func checkAddress(text string) error {
	if ip := net.ParseIP(text); ip == nil || !ip.IsGlobalUnicast() && !ip.IsLoopback() {
		return apierrors.NewBadRequest("address not allowed")
	}
	return nil
}

// podProxy implements pods/proxy.
type podProxy struct {
	Network
	pods rest.Getter
}

func (podProxy) IsStream() bool { return false }

func (podProxy) ConnectOptions(_ url.Values, below string) (runtime.Object, error) {
	return &corev1.PodProxyOptions{TypeMeta: typeOf("PodProxyOptions"), Path: below}, nil
}

func (p podProxy) Connect(ctx context.Context, key rest.Key, options runtime.Object) (*rest.Location, error) {
	wanted, err := parseTarget("pod", key.Name)
	if err != nil {
		return nil, err
	}
	pod, err := genericregistry.ObjectIn[*corev1.Pod](p.pods.Get(ctx, rest.Key{Namespace: key.Namespace, Name: wanted.name}))
	if err != nil {
		return nil, err
	}
	if err := checkAddress(pod.Status.PodIP); err != nil {
		return nil, err
	}
	return wanted.at(pod.Status.PodIP, cmp.Or(wanted.port, firstPort(pod)), options.(*corev1.PodProxyOptions).Path, p.Proxied), nil
}

// firstPort returns the first port of a pod, "" for none.
func firstPort(pod *corev1.Pod) string {
	for _, container := range pod.Spec.Containers {
		if len(container.Ports) > 0 {
			return strconv.Itoa(int(container.Ports[0].ContainerPort))
		}
	}
	return ""
}

// nodeProxy implements nodes/proxy: the kubelet of a node, or another port there.
type nodeProxy struct{ Network }

func (nodeProxy) IsStream() bool { return false }

func (nodeProxy) ConnectOptions(_ url.Values, below string) (runtime.Object, error) {
	return &corev1.NodeProxyOptions{TypeMeta: typeOf("NodeProxyOptions"), Path: below}, nil
}

func (p nodeProxy) Connect(_ context.Context, key rest.Key, options runtime.Object) (*rest.Location, error) {
	wanted, err := parseTarget("node", key.Name)
	if err != nil {
		return nil, err
	}
	host, port, err := p.kubelet(wanted.name, corev1.Resource("nodes"))
	if err != nil {
		return nil, err
	}
	if net.ParseIP(host) != nil {
		if err := checkAddress(host); err != nil {
			return nil, err
		}
	}
	path := options.(*corev1.NodeProxyOptions).Path
	if wanted.port != "" && wanted.port != strconv.Itoa(int(port)) {
		return wanted.at(host, wanted.port, path, p.Proxied), nil
	}
	if port == 0 || p.Kubelets == nil {
		return nil, noKubelet(wanted.name)
	}
	address, transport := p.Kubelets.At(host, port)
	wanted.scheme = address.Scheme
	return wanted.at(host, address.Port(), path, transport), nil
}

// serviceProxy implements services/proxy: one of the ready pods behind a service.
type serviceProxy struct {
	Network
	services, endpoints, pods rest.Getter
}

func (serviceProxy) IsStream() bool { return false }

func (serviceProxy) ConnectOptions(_ url.Values, below string) (runtime.Object, error) {
	return &corev1.ServiceProxyOptions{TypeMeta: typeOf("ServiceProxyOptions"), Path: below}, nil
}

func (p serviceProxy) Connect(ctx context.Context, key rest.Key, options runtime.Object) (*rest.Location, error) {
	wanted, err := parseTarget("service", key.Name)
	if err != nil {
		return nil, err
	}
	of := rest.Key{Namespace: key.Namespace, Name: wanted.name}
	port := wanted.port
	if number, err := strconv.ParseInt(port, 10, 64); err == nil {
		if port, err = p.nameOf(ctx, of, number); err != nil {
			return nil, err
		}
	}
	endpoints, err := genericregistry.ObjectIn[*corev1.Endpoints](p.endpoints.Get(ctx, of))
	if err != nil {
		return nil, err
	}
	for _, i := range rand.Perm(len(endpoints.Subsets)) {
		subset := &endpoints.Subsets[i]
		j := slices.IndexFunc(subset.Ports, func(of corev1.EndpointPort) bool { return of.Name == port })
		if j < 0 {
			continue
		}
		for _, k := range rand.Perm(len(subset.Addresses)) {
			if address := &subset.Addresses[k]; p.isPod(ctx, address, key.Namespace) {
				return wanted.at(address.IP, strconv.Itoa(int(subset.Ports[j].Port)), options.(*corev1.ServiceProxyOptions).Path, p.Proxied), nil
			}
		}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", key.Name))
}

// nameOf returns the name of a port of a service by its number.
func (p serviceProxy) nameOf(ctx context.Context, key rest.Key, number int64) (string, error) {
	service, err := genericregistry.ObjectIn[*corev1.Service](p.services.Get(ctx, key))
	if err != nil {
		return "", err
	}
	for _, port := range service.Spec.Ports {
		if int64(port.Port) == number {
			return port.Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, key.Name))
}

// isPod reports whether an address is that of a pod of a namespace: who may write endpoints must not reach anything else.
func (p serviceProxy) isPod(ctx context.Context, address *corev1.EndpointAddress, namespace string) bool {
	if address.TargetRef == nil || address.TargetRef.Namespace != namespace || checkAddress(address.IP) != nil {
		return false
	}
	pod, err := genericregistry.ObjectIn[*corev1.Pod](p.pods.Get(ctx, rest.Key{Namespace: namespace, Name: address.TargetRef.Name}))
	return err == nil && slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == address.IP })
}
