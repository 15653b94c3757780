package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ProbeAgent is how the user agent of a probe begins; the kubelet's version follows.
const ProbeAgent = "kube-probe/"

// target is what is probed: a container at its pod's address.
type target struct {
	k      *Kubelet
	run    Container
	ports  []corev1.ContainerPort
	ip     string
	onHost bool // the pod has no address of its own: only host ports are open
}

// targetOf returns where a container is probed.
func (w *podWorker) targetOf(c *container) target {
	return target{w.k, c.run, c.spec.Ports, w.podIP(), !w.ip.IsValid()}
}

// newProbeClient returns who makes one HTTP probe, on a connection of its own that ends with the
// context. It follows no redirects, and takes any certificate, as today's kubelet does.
func (t target) newProbeClient(ctx context.Context) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			// The transport's own context would let a dial go on after the request.
			DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
				return t.k.Dial(ctx, network, address)
			},
			DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// probe makes a probe. Nil is success.
func (t target) probe(ctx context.Context, kind ProbeKind, probe *corev1.Probe) error {
	switch {
	case probe.HTTPGet != nil:
		return t.get(ctx, probe.HTTPGet)
	case probe.TCPSocket != nil:
		return t.connect(ctx, probe.TCPSocket)
	}
	return t.run.Probe(ctx, kind)
}

func (t target) get(ctx context.Context, action *corev1.HTTPGetAction) error {
	port, err := t.port(action.Port)
	if err != nil {
		return err
	}
	address, err := url.Parse(action.Path)
	if err != nil {
		address = &url.URL{Path: action.Path}
	}
	address.Scheme = "http"
	if action.Scheme != "" {
		address.Scheme = strings.ToLower(string(action.Scheme))
	}
	address.Host = net.JoinHostPort(t.host(action.Host), port)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", ProbeAgent+t.k.Version)
	req.Header.Set("Accept", "*/*")
	for _, header := range action.HTTPHeaders {
		if http.CanonicalHeaderKey(header.Name) == "Host" {
			req.Host = header.Value
			continue
		}
		req.Header.Add(header.Name, header.Value)
	}
	resp, err := t.newProbeClient(ctx).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 10<<10)) // the status is the result
	if resp.StatusCode < http.StatusOK || resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", resp.StatusCode)
	}
	return nil
}

func (t target) connect(ctx context.Context, action *corev1.TCPSocketAction) error {
	port, err := t.port(action.Port)
	if err != nil {
		return err
	}
	conn, err := t.k.Dial(ctx, "tcp", net.JoinHostPort(t.host(action.Host), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

func (t target) host(own string) string {
	if own != "" {
		return own
	}
	return t.ip
}

var errNoPort = errors.New("the container has no port of the probe's name")

// port returns the number of a port of the container. Without an own address that is the host port.
func (t target) port(asked intstr.IntOrString) (string, error) {
	number := int32(asked.IntValue())
	if asked.Type == intstr.String && number == 0 {
		for _, port := range t.ports {
			if port.Name == asked.StrVal {
				number = port.ContainerPort
			}
		}
	}
	if number <= 0 {
		return "", errNoPort
	}
	for _, port := range t.ports {
		if t.onHost && port.ContainerPort == number && port.HostPort > 0 {
			number = port.HostPort
			break
		}
	}
	return strconv.Itoa(int(number)), nil
}
