package server_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/hollow"
	"kube2014/pkg/kubelet/server"
)

// hostOf has one pod, default/web.
type hostOf struct {
	server.Host
	pod *fakePod
}

func (h hostOf) Pod(key string) server.Pod {
	if key != "default/web" {
		return nil
	}
	return h.pod
}

// fakePod is the pod web with the uid u1, and one container, web.
type fakePod struct {
	server.Pod
	run     cri.Container // nil if it does not run
	address string        // of each of its ports
	refused error         // the error of each connection to them; nil for none
}

func (p *fakePod) Object() corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u1"}}
}

func (p *fakePod) Running(container string) cri.Container {
	if container != "web" {
		return nil
	}
	return p.run
}

func (p *fakePod) Address(uint16) string { return p.address }

// served is a server of a pod, with real connections.
type served struct {
	*server.Server
	host string
}

// serve serves a pod until the test ends.
func serve(t testing.TB, pod *fakePod) served {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := served{server.New(hostOf{pod: pod}, func(ctx context.Context, network, address string) (net.Conn, error) {
		if pod.refused != nil {
			return nil, pod.refused
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}), listener.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(listener)
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return s
}

// startHollow returns a hollow container that runs.
func startHollow(t testing.TB, change func(*cri.Spec)) cri.Container {
	changed := make(chan struct{}, 100)
	spec := cri.Spec{
		Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u1"}}, Container: &corev1.Container{Name: "web", Image: "i"}, Name: "web",
		Changed: func() { changed <- struct{}{} }, Warn: func(string, string) {},
	}
	change(&spec)
	c := (&hollow.Runtime{StartAfter: 1}).Start(spec)
	t.Cleanup(func() { c.Stop(0) })
	<-changed
	return c
}

func plain(*cri.Spec) {}

// url returns the address of a request.
func (s served) url(scheme, path string, query url.Values) *url.URL {
	return &url.URL{Scheme: scheme, Host: s.host, Path: path, RawQuery: query.Encode()}
}

// config returns that of a client that trusts any server.
func (s served) config(scheme string) *rest.Config {
	return &rest.Config{Host: scheme + "://" + s.host, TLSClientConfig: rest.TLSClientConfig{Insecure: scheme == "https"}}
}

// protocols are the ways in which today's clients ask for streams.
var protocols = map[string]struct {
	scheme   string
	executor func(config *rest.Config, at *url.URL) (remotecommand.Executor, error)
	dialer   func(config *rest.Config, at *url.URL) (httpstream.Dialer, error)
}{
	"SPDY":                     {"http", spdyExecutor, spdyDialer},
	"SPDY with TLS":            {"https", spdyExecutor, spdyDialer},
	"a web socket":             {"http", webSocketExecutor, portforwardTunnel},
	"a web socket, and in TLS": {"https", webSocketExecutor, portforwardTunnel},
}

func spdyExecutor(config *rest.Config, at *url.URL) (remotecommand.Executor, error) {
	return remotecommand.NewSPDYExecutor(config, http.MethodPost, at)
}

func webSocketExecutor(config *rest.Config, at *url.URL) (remotecommand.Executor, error) {
	return remotecommand.NewWebSocketExecutor(config, http.MethodGet, at.String())
}

func spdyDialer(config *rest.Config, at *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	return spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at), nil
}

func portforwardTunnel(config *rest.Config, at *url.URL) (httpstream.Dialer, error) {
	return portforward.NewSPDYOverWebsocketDialerForStreaming(at, config)
}

// dial opens a connection for ports of the pod.
func dial(t testing.TB, s served, protocol string) httpstream.Connection {
	p := protocols[protocol]
	dialer, err := p.dialer(s.config(p.scheme), s.url(p.scheme, "/portForward/default/web", nil))
	require.NoError(t, err)
	conn, name, err := dialer.Dial("portforward.k8s.io")
	require.NoError(t, err)
	require.Equal(t, "portforward.k8s.io", name)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// open opens the streams of one connection to a port.
func open(t testing.TB, conn httpstream.Connection, id, port string) (data, errs httpstream.Stream) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, port)
	headers.Set(corev1.PortForwardRequestIDHeader, id)
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	errs, err := conn.CreateStream(headers)
	require.NoError(t, err)
	require.NoError(t, errs.Close()) // nothing is sent there
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err = conn.CreateStream(headers)
	require.NoError(t, err)
	return data, errs
}

// listen accepts connections until the test ends.
func listen(t testing.TB, serve func(net.Conn)) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return listener.Addr().String()
}

// anyCertificate is the client of a server that nobody has signed.
var anyCertificate = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
