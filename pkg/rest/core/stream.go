package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/server/request"
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

// podLog implements GET pods/NAME/log.
type podLog struct {
	pods     *generic.Store[*corev1.Pod]
	nodes    nodes
	kubelets Kubelets // nil for none
}

func (l podLog) Stream(ctx context.Context, key rest.Key, query url.Values) (io.ReadCloser, error) {
	if errs := validateLogOptions(query); len(errs) > 0 {
		return nil, rest.Invalid(coreGroup.WithKind("PodLogOptions").GroupKind(), key.Name, errs)
	}
	pod, err := generic.ObjectIn[*corev1.Pod](l.pods.Get(ctx, key))
	if err != nil {
		return nil, err
	}
	container, err := containerOf(pod, query.Get("container"))
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName == "" {
		return http.NoBody, nil
	}
	host, port, err := l.nodes.kubelet(pod.Spec.NodeName, corev1.Resource("pods"))
	if err != nil {
		return nil, err
	}
	if port == 0 || l.kubelets == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("container %q in pod %q is waiting to start: no kubelet has started it", container, pod.Name))
	}
	log, err := l.kubelets.ContainerLogs(ctx, host, port, pod.Namespace, pod.Name, container, forKubelet(query))
	var refused KubeletError
	switch {
	case err == nil:
		return log, nil
	case !errors.As(err, &refused):
		return nil, apierrors.NewServiceUnavailable(err.Error())
	case refused.Code() == http.StatusBadRequest:
		return nil, apierrors.NewBadRequest(refused.Error())
	}
	return nil, apierrors.NewGenericServerResponse(refused.Code(), "", schema.GroupResource{Resource: "pods/log"}, key.Name, refused.Error(), 0, false)
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

// logNumbers are the numeric options of a log, with their minimum.
var logNumbers = map[string]int64{"sinceSeconds": 1, "tailLines": 0, "limitBytes": 1}

// validateLogOptions returns all errors of the options of a log.
func validateLogOptions(query url.Values) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(logNumbers)) {
		text, least := query.Get(name), logNumbers[name]
		if text == "" {
			continue
		}
		number, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(field.NewPath(name), text, "must be a number"))
		case number < least && least == 0:
			errs = append(errs, field.Invalid(field.NewPath(name), number, "must be greater than or equal to 0"))
		case number < least:
			errs = append(errs, field.Invalid(field.NewPath(name), number, "must be greater than 0"))
		}
	}
	if since := query.Get("sinceTime"); since != "" {
		if _, err := time.Parse(time.RFC3339, since); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("sinceTime"), since, "must be a time like 2014-06-06T12:00:00Z"))
		}
		if query.Get("sinceSeconds") != "" {
			errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
		}
	}
	return errs
}

// logSwitches are the boolean options of a log.
var logSwitches = []string{"follow", "previous", "timestamps"}

// forKubelet returns the options for a kubelet. As in today's server, a true switch has the value true.
func forKubelet(query url.Values) url.Values {
	own := url.Values{}
	for name, values := range query {
		_, isNumber := logNumbers[name]
		switch {
		case isNumber, name == "sinceTime":
			own[name] = values
		case slices.Contains(logSwitches, name) && request.IsOn(values):
			own.Set(name, "true")
		}
	}
	return own
}

// podStream implements pods/attach, pods/exec and pods/portforward: the kubelet of the pod speaks with the client.
type podStream struct {
	pods     *generic.Store[*corev1.Pod]
	nodes    nodes
	kubelets Kubelets // nil for none
	read     func(query url.Values) (runtime.Object, error)
}

func (podStream) IsStream() bool { return true }

func (s podStream) ConnectOptions(query url.Values, _ string) (runtime.Object, error) {
	return s.read(query)
}

func (s podStream) Connect(ctx context.Context, key rest.Key, options runtime.Object) (*rest.Location, error) {
	pod, err := generic.ObjectIn[*corev1.Pod](s.pods.Get(ctx, key))
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
	host, port, err := s.nodes.kubelet(pod.Spec.NodeName, corev1.Resource("pods"))
	if err != nil {
		return nil, err
	}
	if port == 0 || s.kubelets == nil {
		return nil, noKubelet(pod.Spec.NodeName)
	}
	address, transport := s.kubelets.At(host, port)
	address = address.JoinPath(verb, pod.Namespace, pod.Name, container)
	address.RawQuery = query.Encode()
	return &rest.Location{URL: address, Transport: transport}, nil
}

func noKubelet(node string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("no kubelet has reported that it listens on node %q", node))
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
