// Package connect lets clients reach what is behind nodes, pods and services: their logs, their streams and their web servers.
package connect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// Kubelets is a client of the kubelets of nodes.
type Kubelets interface {
	// ContainerLogs streams the log of a container from the kubelet at a host and port; the caller
	// closes it. The error is a KubeletError if the kubelet refuses.
	ContainerLogs(ctx context.Context, host string, port uint, namespace, pod, container string, query url.Values) (io.ReadCloser, error)
	// At returns the address of the kubelet at a host and port, and the transport of requests that are sent on to it. It speaks HTTP/1.1 only.
	At(host string, port uint) (*url.URL, http.RoundTripper)
}

// KubeletError is the answer of a kubelet that refuses a log.
type KubeletError interface {
	error
	Code() int // the HTTP status code
}

// Network is how the server reaches what is behind objects.
type Network struct {
	Nodes    *genericregistry.Store[*corev1.Node]
	Kubelets Kubelets          // nil for none
	Proxied  http.RoundTripper // of requests that are sent on; it speaks HTTP/1.1 only
}

// NodeRow returns the row by which clients reach a node.
func (n Network) NodeRow(of rest.Resource) rest.Resource {
	return connecting(of, "proxy", "NodeProxyOptions", nodeProxy{n})
}

// PodRows returns the rows by which clients reach a pod.
func (n Network) PodRows(of rest.Resource, pods rest.Getter) []rest.Resource {
	return []rest.Resource{
		of.Subresource("log", podLog{n, pods}),
		connecting(of, "attach", "PodAttachOptions", podStream{n, pods, attachOptions}),
		connecting(of, "exec", "PodExecOptions", podStream{n, pods, execOptions}),
		connecting(of, "portforward", "PodPortForwardOptions", podStream{n, pods, portForwardOptions}),
		connecting(of, "proxy", "PodProxyOptions", podProxy{n, pods}),
	}
}

// ServiceRow returns the row by which clients reach a pod behind a service.
func (n Network) ServiceRow(of rest.Resource, services, endpoints, pods rest.Getter) rest.Resource {
	return connecting(of, "proxy", "ServiceProxyOptions", serviceProxy{n, services, endpoints, pods})
}

// connecting returns the row of a subresource of a resource that connects, with the kind of its options.
func connecting(of rest.Resource, name, options string, storage rest.Connecter) rest.Resource {
	row := of.Subresource(name, storage)
	row.Kind, row.Printer = corev1.SchemeGroupVersion.WithKind(options), printers.Printer{}
	return row
}

func typeOf(options string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: options, APIVersion: corev1.SchemeGroupVersion.Version}
}

// kubelet returns the address of the kubelet of a node. The port is 0 if no kubelet has reported one. As in
// today's server, the error names the resource of the request.
func (n Network) kubelet(name string, of schema.GroupResource) (host string, port uint, err error) {
	stored, err := n.Nodes.Objects.Get(api.DefaultKey(api.NodeKind, name))
	if err != nil {
		return "", 0, rest.StatusError(err, of, name)
	}
	node, err := n.Nodes.Decoded(stored)
	if err != nil {
		return "", 0, rest.StatusError(err, of, name)
	}
	host, port = KubeletOf(node)
	return host, port, nil
}

// KubeletOf returns the address of the kubelet of a node. The port is 0 if no kubelet has reported one.
func KubeletOf(node *corev1.Node) (host string, port uint) {
	port = uint(node.Status.DaemonEndpoints.KubeletEndpoint.Port)
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address, port
		}
	}
	return node.Name, port
}

func noKubelet(node string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("no kubelet has reported that it listens on node %q", node))
}

// containerOf returns the name of the requested container. The name may be "" if there is only one that is not an initial one.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	main := pod.Spec.Containers
	if name == "" && len(main) == 1 {
		return main[0].Name, nil
	}
	var names []string
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, main} {
		for _, container := range containers {
			names = append(names, container.Name)
		}
	}
	for _, container := range pod.Spec.EphemeralContainers {
		names = append(names, container.Name)
	}
	switch {
	case name != "" && !slices.Contains(names, name):
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	case name == "" && len(main) > 1:
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v", pod.Name, names))
	}
	return name, nil // "" for a task of 2014
}
