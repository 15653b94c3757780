package connect

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/server/request"
)

// podStream implements pods/attach, pods/exec and pods/portforward: the kubelet of the pod speaks with the client.
type podStream struct {
	Network
	pods rest.Getter
	read func(query url.Values) (runtime.Object, error)
}

func (podStream) IsStream() bool { return true }

func (s podStream) ConnectOptions(query url.Values, _ string) (runtime.Object, error) {
	return s.read(query)
}

func (s podStream) Connect(ctx context.Context, key rest.Key, options runtime.Object) (*rest.Location, error) {
	pod, err := genericregistry.ObjectIn[*corev1.Pod](s.pods.Get(ctx, key))
	if err != nil {
		return nil, err
	}
	verb, container, query := forStream(options)
	if verb != "portForward" {
		if container, err = containerOf(pod, container); err != nil {
			return nil, err
		}
	}
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", key.Name))
	}
	host, port, err := s.kubelet(pod.Spec.NodeName, corev1.Resource("pods"))
	if err != nil {
		return nil, err
	}
	if port == 0 || s.Kubelets == nil {
		return nil, noKubelet(pod.Spec.NodeName)
	}
	address, transport := s.Kubelets.At(host, port)
	address = address.JoinPath(verb, pod.Namespace, pod.Name, container)
	address.RawQuery = query.Encode()
	return &rest.Location{URL: address, Transport: transport}, nil
}

// forStream returns the first part of the path at a kubelet, the name of the container, and the query that the kubelet knows.
func forStream(options runtime.Object) (verb, container string, query url.Values) {
	query = url.Values{}
	sets := func(input, output, errors, tty bool) {
		for name, isOn := range map[string]bool{corev1.ExecStdinParam: input, corev1.ExecStdoutParam: output, corev1.ExecStderrParam: errors, corev1.ExecTTYParam: tty} {
			if isOn {
				query.Set(name, "1")
			}
		}
	}
	switch o := options.(type) {
	case *corev1.PodExecOptions:
		sets(o.Stdin, o.Stdout, o.Stderr, o.TTY)
		query[corev1.ExecCommandParam] = o.Command
		return "exec", o.Container, query
	case *corev1.PodAttachOptions:
		sets(o.Stdin, o.Stdout, o.Stderr, o.TTY)
		return "attach", o.Container, query
	case *corev1.PodPortForwardOptions:
		var ports []string
		for _, port := range o.Ports {
			ports = append(ports, strconv.Itoa(int(port)))
		}
		if len(ports) > 0 {
			query.Set(corev1.PortHeader, strings.Join(ports, ","))
		}
	}
	return "portForward", "", query
}

func execOptions(query url.Values) (runtime.Object, error) {
	return &corev1.PodExecOptions{TypeMeta: typeOf("PodExecOptions"), Stdin: request.IsOn(query["stdin"]), Stdout: request.IsOn(query["stdout"]),
		Stderr: request.IsOn(query["stderr"]), TTY: request.IsOn(query["tty"]), Container: query.Get("container"), Command: query["command"]}, nil
}

func attachOptions(query url.Values) (runtime.Object, error) {
	return &corev1.PodAttachOptions{TypeMeta: typeOf("PodAttachOptions"), Stdin: request.IsOn(query["stdin"]), Stdout: request.IsOn(query["stdout"]),
		Stderr: request.IsOn(query["stderr"]), TTY: request.IsOn(query["tty"]), Container: query.Get("container")}, nil
}

func portForwardOptions(query url.Values) (runtime.Object, error) {
	options, values := &corev1.PodPortForwardOptions{TypeMeta: typeOf("PodPortForwardOptions")}, query["ports"]
	if err := metav1.Convert_Slice_string_To_Slice_int32(&values, &options.Ports, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return options, nil
}
