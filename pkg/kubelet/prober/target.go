// Package prober probes containers: by HTTP, by TCP, by a command, or by the runtime.
package prober

import (
	"cmp"
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

	"kube2014/pkg/kubelet/cri"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Target is what is probed: a container at its pod's address. It does not change, and is safe for concurrent
// use.
type Target struct {
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Version string // of the kubelet
	Run     cri.Container
	Ports   []corev1.ContainerPort
	IP      string
	OnHost  bool // the pod has no address of its own: only host ports are open
}

// newProbeClient returns a client for one HTTP probe, with its own connection that ends with the
// context. Like today's kubelet, it follows no redirects, and accepts any certificate.
func (t Target) newProbeClient(ctx context.Context) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			// The transport's own context would let a dial go on after the request.
			DialContext: func(_ context.Context, network, address string) (net.Conn, error) {
				return t.Dial(ctx, network, address)
			},
			DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Probe runs a probe, until the context ends. Nil is success.
func (t Target) Probe(ctx context.Context, kind cri.ProbeKind, probe *corev1.Probe) error {
	switch {
	case probe.HTTPGet != nil:
		return t.get(ctx, probe.HTTPGet)
	case probe.TCPSocket != nil:
		return t.connect(ctx, probe.TCPSocket)
	}
	if err := t.Run.Probe(ctx, kind); err != nil || probe.Exec == nil {
		return err
	}
	return Exec(ctx, t.Run, probe.Exec.Command)
}

func (t Target) get(ctx context.Context, action *corev1.HTTPGetAction) error {
	port, err := t.port(action.Port)
	if err != nil {
		return err
	}
	address, err := url.Parse(action.Path)
	if err != nil {
		address = &url.URL{Path: action.Path}
	}
	address.Scheme = strings.ToLower(string(cmp.Or(action.Scheme, corev1.URISchemeHTTP)))
	address.Host = net.JoinHostPort(cmp.Or(action.Host, t.IP), port)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", cri.ProbeAgent+t.Version)
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

func (t Target) connect(ctx context.Context, action *corev1.TCPSocketAction) error {
	port, err := t.port(action.Port)
	if err != nil {
		return err
	}
	conn, err := t.Dial(ctx, "tcp", net.JoinHostPort(cmp.Or(action.Host, t.IP), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

var errNoPort = errors.New("the container has no port of the probe's name")

// port returns the number of a port of the container. Without an own address that is the host port.
func (t Target) port(asked intstr.IntOrString) (string, error) {
	number := int32(asked.IntValue())
	if asked.Type == intstr.String && number == 0 {
		for _, port := range t.Ports {
			if port.Name == asked.StrVal {
				number = port.ContainerPort
			}
		}
	}
	if number <= 0 {
		return "", errNoPort
	}
	for _, port := range t.Ports {
		if t.OnHost && port.ContainerPort == number && port.HostPort > 0 {
			number = port.HostPort
			break
		}
	}
	return strconv.Itoa(int(number)), nil
}
